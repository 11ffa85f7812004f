// The identity that an instrument reports, compared with the one in the configuration. Only questions are sent, and nothing moves.

import { attached, type LineTransport } from '../../drivers/attach.ts'
import type { AnyDriver } from '../../drivers/driver.ts'
import { thisComputer } from '../../drivers/transports/hardware.ts'
import type { Identity } from '../devices/device.ts'
import { LabError } from '../errors.ts'
import { sleep, systemClock } from '../kit/clock.ts'

/** Some instruments are deaf for a while when their port was opened. */
const patience_ms = 10_000

/** The members that are known are what it must say. */
type Taught = { [Member in keyof Identity]?: string | null | undefined }

/** Opens its port, asks, and closes that again: pins would be driven by being opened. null when it cannot be asked without moving it. Rejects when it does not answer. */
export async function askWhoItIs(device: { driven_by: AnyDriver; settings: unknown; transport: LineTransport }): Promise<Identity | null> {
  const { driven_by, settings, transport } = device
  const { device: instrument, link } = attached(driven_by, { transport, settings, clock: systemClock, hardware: thisComputer() })
  const deaf_ms = 'deaf_s' in driven_by ? (driven_by.deaf_s ?? 0) * 1000 : 0
  const done = new AbortController()
  const late = sleep(systemClock, patience_ms + deaf_ms, done.signal).then(() => {
    throw new LabError('no_reply', 'it does not answer; see that it is switched on, and that its driver and settings are right')
  })
  try {
    return await Promise.race([link.open().then(() => instrument.identify()), late])
  } finally {
    late.catch(() => undefined)
    done.abort()
    await link.close()
  }
}

/** Words the differences to the identity in the configuration: `serial number "4712" instead of "4711"`. */
export function differences(says: Identity, taught: Taught): string[] {
  return (Object.keys(says) as (keyof Identity)[])
    .filter((member) => typeof taught[member] === 'string' && says[member] !== taught[member])
    .map((member) => `${member.replace('_', ' ')} ${JSON.stringify(says[member])} instead of ${JSON.stringify(taught[member])}`)
}

/** The members that are worth storing: firmware is renewed, and the instrument is the same. */
export function worthTeaching({ model, serial_number }: Identity): Taught {
  return { ...(model !== null && { model }), ...(serial_number !== null && { serial_number }) }
}

/** `BioShake 3000-T elm, serial number 4711, firmware 1.8.2`. */
export function identityInWords({ model, serial_number, firmware_version }: Identity): string {
  const words = [model, serial_number && `serial number ${serial_number}`, firmware_version && `firmware ${firmware_version}`]
  return words.filter(Boolean).join(', ') || 'nothing of itself'
}

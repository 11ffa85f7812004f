// The identity that an instrument reports, compared with the one in the configuration. Only questions are sent, and nothing moves.

import { type Attached, attached, type LineTransport } from '../../drivers/attach.ts'
import type { AnyDriver } from '../../drivers/driver.ts'
import { driverNames, drivers } from '../../drivers/index.ts'
import { unlikeDriver } from '../../drivers/transports/exchange.ts'
import { thisComputer } from '../../drivers/transports/hardware.ts'
import type { Identity } from '../devices/device.ts'
import { LabError } from '../errors.ts'
import { type Clock, sleep, systemClock } from '../kit/clock.ts'

/** Some instruments are deaf for a while when their port was opened. */
const patience_ms = 10_000

/** The members that are known are what it must say. */
type Taught = { [Member in keyof Identity]?: string | null | undefined }

/** The instrument answers, and not as one of its driver does. */
export class WrongInstrument extends LabError {
  constructor(message: string, options?: { cause: unknown }) {
    super('device_failed', message, options)
  }
}

/** Bytes of an answer that are kept to tell whose it is, and characters of it that a sentence quotes. */
const mostHeard = 4096
const mostQuoted = 40

/** Asks the instrument on a port of this computer or of a box, as `askOnce` does. Pins would be driven by being opened. */
export async function askWhoItIs(device: { driven_by: AnyDriver; settings: unknown; transport: LineTransport }): Promise<Identity | null> {
  const { driven_by, settings, transport } = device
  return askOnce(attached(driven_by, { transport, settings, clock: systemClock, hardware: thisComputer() }), driven_by, systemClock)
}

/**
 * Opens the link, asks, and closes it again. null when the instrument cannot be asked without moving it. Rejects when it does not answer, and with
 * `WrongInstrument` when it answers as no instrument of the driver does. Only the driver's own questions are sent: one of another driver may be an
 * order to this instrument.
 */
export async function askOnce({ device, link }: Attached, driver: AnyDriver, clock: Clock): Promise<Identity | null> {
  const deaf_ms = 'deaf_s' in driver ? (driver.deaf_s ?? 0) * 1000 : 0
  let heard = ''
  link.onWire((direction, bytes) => {
    if (direction === 'to_host') heard = (heard + Buffer.from(bytes).toString('latin1')).slice(0, mostHeard)
  })
  const done = new AbortController()
  const late = sleep(clock, patience_ms + deaf_ms, done.signal).then(() => {
    throw new LabError('no_reply', 'it does not answer; see that it is switched on, and that its driver and settings are right')
  })
  const asked = link.open().then(() => device.identify())
  try {
    const identity = await Promise.race([asked, late])
    if (!isOf(driver, heard)) throw await wrong(heard)
    return identity
  } catch (cause) {
    throw isOf(driver, heard) || cause instanceof WrongInstrument ? cause : await wrong(heard, cause)
  } finally {
    for (const left of [asked, late]) left.catch(() => undefined)
    done.abort()
    await link.close()
  }
}

/** Whether what was heard shows an instrument of the driver. Silence speaks against none. */
function isOf(driver: AnyDriver, heard: string): boolean {
  return heard === '' || (signatureOf(driver)?.test(heard) ?? true)
}

/** The error of an instrument that answers as none of the driver does. It names the drivers whose instruments answer so. */
async function wrong(heard: string, cause?: unknown): Promise<WrongInstrument> {
  const fitting: string[] = []
  for (const name of driverNames) {
    if (signatureOf(await drivers[name]())?.test(heard)) fitting.push(name)
  }
  const [line = ''] = heard.trim().split(/[\r\n]/)
  const said = `it answers ${JSON.stringify(line.slice(0, mostQuoted))}`
  const words = fitting.length
    ? `${said}, as an instrument of the driver ${fitting.join(' or ')} does; see that the driver and the port are the right ones`
    : `${said}, and ${unlikeDriver}`
  return new WrongInstrument(words, { cause })
}

function signatureOf(driver: AnyDriver): RegExp | undefined {
  return 'signature' in driver ? driver.signature : undefined
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

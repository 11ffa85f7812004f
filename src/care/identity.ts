// Compares the identity that an instrument reports with the configuration. Only questions are sent, and nothing moves.

import { type Attached, attached, type LineTransport } from '../../drivers/attach.ts'
import type { AnyDriver } from '../../drivers/driver.ts'
import { driverNames, drivers } from '../../drivers/index.ts'
import { unlikeDriver, unlikeOnNetwork } from '../../drivers/transports/exchange.ts'
import { thisComputer } from '../../drivers/transports/hardware.ts'
import type { Identity } from '../devices/device.ts'
import { LabError, messageOf } from '../errors.ts'
import { type Clock, sleep, systemClock } from '../kit/clock.ts'

/** The time limit; some instruments are deaf for a while after their port was opened. */
const patience_ms = 10_000

/** The configured identity, of which known members must match. */
type Taught = { [Member in keyof Identity]?: string | null | undefined }

/** The error of an instrument whose answers are not those of its driver. */
export class WrongInstrument extends LabError {
  /** The drivers whose instruments answer so. */
  readonly fitting: readonly string[]

  constructor(message: string, { fitting, cause }: { fitting: readonly string[]; cause: unknown }) {
    super('device_failed', message, { cause })
    this.fitting = fitting
  }
}

/** Bytes that are kept of an answer to recognize its driver, and characters that a sentence quotes. */
const mostHeard = 4096
const mostQuoted = 40

/** Identifies the instrument on a serial port of this computer or of a box, as `askOnce` does. */
export async function askWhoItIs(device: { driven_by: AnyDriver; settings: unknown; transport: LineTransport }): Promise<Identity | null> {
  const { driven_by, settings, transport } = device
  return askOnce(attached(driven_by, { transport, settings, clock: systemClock, hardware: thisComputer() }), driven_by, systemClock)
}

/**
 * Opens the link, asks, and closes it. Resolves with null if the instrument cannot be asked without moving it. Rejects without an answer, and with
 * `WrongInstrument` for answers that no instrument of the driver gives. Only the driver's own questions are sent, since one of another driver may be a
 * command to this instrument.
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
    if (!isOf(driver, heard)) throw await wrong(driver, heard)
    return identity
  } catch (cause) {
    throw isOf(driver, heard) || cause instanceof WrongInstrument ? cause : await wrong(driver, heard, cause)
  } finally {
    for (const left of [asked, late]) left.catch(() => undefined)
    done.abort()
    await link.close()
  }
}

/** Whether the received bytes can be from an instrument of the driver; silence can. */
function isOf(driver: AnyDriver, heard: string): boolean {
  return heard === '' || (signatureOf(driver)?.test(heard) ?? true)
}

/** Makes the error of a wrong instrument, naming the drivers that its answers fit. */
async function wrong(driver: AnyDriver, heard: string, cause?: unknown): Promise<WrongInstrument> {
  const fitting: string[] = []
  for (const name of driverNames) {
    if (signatureOf(await drivers[name]())?.test(heard)) fitting.push(name)
  }
  const [line = ''] = heard.trim().split(/[\r\n]/)
  const said = `it answers ${JSON.stringify(line.slice(0, mostQuoted))}`
  const words = fitting.length
    ? `${said}, as an instrument of the driver ${fitting.join(' or ')} does; see that the driver and the port are the right ones`
    : `${said}, and ${'tcp' in driver && driver.tcp ? unlikeOnNetwork : unlikeDriver}`
  return new WrongInstrument(words, { fitting, cause })
}

function signatureOf(driver: AnyDriver): RegExp | undefined {
  return 'signature' in driver ? driver.signature : undefined
}

/** The outcome of a question for the identity. `fitting`: an instrument answers, not as one of the driver but as one of these. */
export type Told = { identity: Identity | null; words: string; fitting?: readonly string[] | undefined }

/** Identifies the instrument as `askWhoItIs` does, and words the outcome, also of a failure. Never rejects. */
export async function toldBy(device: Parameters<typeof askWhoItIs>[0], ask = askWhoItIs): Promise<Told> {
  try {
    const identity = await ask(device)
    return {
      identity,
      words: identity ? `asked the device: ${identityInWords(identity)}` : 'it does not say who it is before it is initialized',
    }
  } catch (error) {
    return {
      identity: null,
      words: `the instrument did not say who it is: ${messageOf(error)}`,
      fitting: error instanceof WrongInstrument ? error.fitting : undefined,
    }
  }
}

/** Lists the differences from the configured identity, such as `serial number "4712" instead of "4711"`. */
export function differences(says: Identity, taught: Taught): string[] {
  return (Object.keys(says) as (keyof Identity)[])
    .filter((member) => typeof taught[member] === 'string' && says[member] !== taught[member])
    .map((member) => `${member.replace('_', ' ')} ${JSON.stringify(says[member])} instead of ${JSON.stringify(taught[member])}`)
}

/** Returns the members to store in the configuration, without the firmware, which may be updated. */
export function worthTeaching({ model, serial_number }: Identity): Taught {
  return { ...(model !== null && { model }), ...(serial_number !== null && { serial_number }) }
}

/** Formats an identity as `BioShake 3000-T elm, serial number 4711, firmware 1.8.2`. */
export function identityInWords({ model, serial_number, firmware_version }: Identity): string {
  const words = [model, serial_number && `serial number ${serial_number}`, firmware_version && `firmware ${firmware_version}`]
  return words.filter(Boolean).join(', ') || 'nothing of itself'
}

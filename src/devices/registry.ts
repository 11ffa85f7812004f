// The devices of the bench, by their ids.

import { LabError, messageOf } from '../errors.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { type Configured, Instrument, type Surroundings } from './instrument.ts'
import type { OperationResult, StopAllResult } from './records.ts'

export class Registry {
  readonly #instruments: ReadonlyMap<string, Instrument>

  constructor(devices: readonly Configured[], around: Surroundings) {
    this.#instruments = new Map(devices.map((device) => [device.device_id, new Instrument(device, around)]))
  }

  /** In the order of the configuration. */
  all(): Instrument[] {
    return [...this.#instruments.values()]
  }

  /** Throws `not_found`, naming the id, when there is none. */
  find(device_id: string): Instrument {
    const instrument = this.#instruments.get(device_id)
    if (instrument) return instrument
    throw new LabError(
      'not_found',
      `there is no device ${JSON.stringify(device_id)}${didYouMean(device_id, [...this.#instruments.keys()])}`,
    )
  }

  /** Whether all that has a driver is simulated. */
  get allSimulated(): boolean {
    return this.all().every((instrument) => instrument.simulated || !instrument.driven)
  }

  /** Stops one device; the bytes are on its wire before this returns. */
  halt(device_id: string): Promise<OperationResult> {
    const instrument = this.find(device_id)
    return instrument.halted(instrument.halt())
  }

  /** Stops every device that has a driver: all the bytes are on their wires before anything else is done. */
  async haltAll(): Promise<StopAllResult> {
    const sent = this.all()
      .filter(({ driven }) => driven)
      .map((instrument) => ({ instrument, acknowledged: instrument.halt() }))
    const halted = sent.map(({ instrument, acknowledged }) => instrument.halted(acknowledged))
    const answers = await Promise.allSettled(halted)
    return summed(answers.map((answer, i) => ({ device_id: sent[i]!.instrument.device_id, answer })))
  }

  start(): void {
    for (const instrument of this.all()) instrument.start()
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((instrument) => instrument.close()))
  }
}

/** Throws `stop_not_sent` when a stop could not be written. */
function summed(answers: { device_id: string; answer: PromiseSettledResult<OperationResult> }[]): StopAllResult {
  const failed = answers.flatMap(({ answer }) => (answer.status === 'rejected' ? [messageOf(answer.reason)] : []))
  if (failed.length) throw new LabError('stop_not_sent', failed.join(' · '))
  const devices = answers.flatMap(({ device_id, answer }) => (answer.status === 'fulfilled' ? [{ device_id, ...answer.value }] : []))
  const success = devices.every((device) => device.success)
  return { success, message: success ? 'all devices stopped' : 'stop sent to all devices, not confirmed by each', devices }
}

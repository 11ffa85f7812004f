// The devices of the bench, by their ids.

import { LabError, messageOf } from '../errors.ts'
import { nobody } from '../kit/author.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import type { Configured, InstrumentContext } from './configured.ts'
import type { Link } from './device.ts'
import { notOpen } from './failure.ts'
import { Instrument } from './instrument.ts'
import type { OperationResult, StopAllResult } from './records.ts'

export class Registry {
  readonly #around: InstrumentContext
  #instruments: ReadonlyMap<string, Instrument>
  /** The devices that were replaced or removed and are not closed yet. A stop reaches them too. */
  readonly #leaving = new Set<Instrument>()
  /** Resolves when all devices that are leaving now are closed. */
  #portsFree: Promise<unknown> = Promise.resolve()

  constructor(devices: readonly Configured[], around: InstrumentContext) {
    this.#around = around
    this.#instruments = new Map(devices.map((device) => [device.device_id, new Instrument(device, around)]))
  }

  /** Lists the devices in the order of the configuration. */
  all(): Instrument[] {
    return [...this.#instruments.values()]
  }

  /** Throws `not_found`, naming the id, when there is none. */
  find(device_id: string): Instrument {
    const instrument = this.#instruments.get(device_id)
    if (instrument) return instrument
    throw new LabError(
      'not_found',
      `there is no device ${JSON.stringify(device_id)}${didYouMeanAmong(device_id, [...this.#instruments.keys()])}`,
    )
  }

  /** Whether all instruments with a driver are simulated. A person is no instrument. */
  get allSimulated(): boolean {
    return this.all().every((instrument) => instrument.simulated || !instrument.driven || instrument.abilities.person !== undefined)
  }

  /** Stops one device for the author; the bytes are on its wire before this returns. */
  halt(device_id: string, author = nobody): Promise<OperationResult> {
    const leaving = this.#leaving.size > 0 ? [...this.#leaving].filter((instrument) => instrument.device_id === device_id) : []
    const instrument = this.#instruments.get(device_id) ?? leaving[0] ?? this.find(device_id)
    haltQuietly(leaving.filter((other) => other !== instrument))
    return instrument.halted(instrument.halt(), author)
  }

  /** Stops every device that has a driver, for the author: all the bytes are on their wires before anything else is done. */
  async haltAll(author = nobody): Promise<StopAllResult> {
    const leaving = [...this.#leaving]
    const removed = leaving.filter(({ device_id }) => !this.#instruments.has(device_id))
    haltQuietly(leaving.filter((instrument) => !removed.includes(instrument)))
    const sent = [...this.all(), ...removed]
      .filter(({ driven }) => driven)
      .map((instrument) => ({ instrument, acknowledged: instrument.halt() }))
    const halted = sent.map(({ instrument, acknowledged }) => instrument.halted(acknowledged, author))
    const answers = await Promise.allSettled(halted)
    return summed(answers.map((answer, i) => ({ device_id: sent[i]!.instrument.device_id, answer })))
  }

  start(): void {
    for (const instrument of this.all()) instrument.start()
  }

  /**
   * Adds the devices `fresh`, replacing those of the same ids; of the others, those in `order` stay. Call one of the returned functions in
   * the same turn: `undo`, or `complete`, which opens the fresh devices and resolves when the others are halted and closed.
   */
  exchange(fresh: readonly Configured[], order: readonly string[]): { undo(): void; complete(): Promise<void> } {
    const before = this.#instruments
    const made = new Map(fresh.map((device) => [device.device_id, new Instrument(this.#afterLeaving(device), this.#around)]))
    this.#instruments = new Map(order.map((device_id) => [device_id, made.get(device_id) ?? before.get(device_id)!]))
    return {
      undo: () => {
        this.#instruments = before
      },
      complete: async () => {
        const others = [...before.values()].filter((instrument) => this.#instruments.get(instrument.device_id) !== instrument)
        const portsFree = Promise.all([
          this.#portsFree,
          ...others.map((instrument) => this.#leave(instrument, made.get(instrument.device_id))),
        ])
        this.#portsFree = portsFree
        for (const instrument of made.values()) instrument.start()
        await portsFree
      },
    }
  }

  /** Sends every owed halt before the process ends at once; see `Instrument.haltBeforeExit`. */
  async haltBeforeExit(): Promise<void> {
    await Promise.all([...this.all(), ...this.#leaving].map((instrument) => instrument.haltBeforeExit()))
  }

  async close(): Promise<void> {
    await Promise.all([this.#portsFree, ...this.all().map((instrument) => instrument.close())])
  }

  /** Closes a device. A halt that it has not acknowledged passes to its replacement. */
  async #leave(instrument: Instrument, next: Instrument | undefined): Promise<void> {
    this.#leaving.add(instrument)
    const { device_id } = instrument
    try {
      await instrument.close(`${device_id} is closed because its configuration has changed`)
    } catch (error) {
      this.#around.log.error(`${device_id}: it could not be closed`, error)
    } finally {
      this.#leaving.delete(instrument)
      instrument.condition.handOver(next?.condition)
    }
  }

  /** Returns the device with a link that is opened only when the leaving devices have closed their ports. */
  #afterLeaving(device: Configured): Configured {
    if (!device.driven) return device
    return { ...device, driven: { ...device.driven, link: openedAfter(() => this.#portsFree, device.driven.link) } }
  }
}

/** Returns the link, opened after `others` has resolved. */
function openedAfter(others: () => Promise<unknown>, link: Link): Link {
  let closed = 0
  return {
    get state() {
      return link.state
    },
    async open() {
      const times = closed
      await others()
      if (times !== closed) throw notOpen('the connection')
      await link.open()
    },
    close() {
      closed++
      return link.close()
    },
    onLost: (call) => link.onLost(call),
    ...(link.advice !== undefined && { advice: link.advice }),
  }
}

/** Halts instruments that were replaced. Their replacements report whether the halt was acknowledged. */
function haltQuietly(instruments: readonly Instrument[]): void {
  for (const instrument of instruments) if (instrument.driven) instrument.halt().catch(() => undefined)
}

/** Sums the answers up. Throws `stop_not_sent` if a stop could not be written. */
function summed(answers: { device_id: string; answer: PromiseSettledResult<OperationResult> }[]): StopAllResult {
  const failed = answers.flatMap(({ answer }) => (answer.status === 'rejected' ? [messageOf(answer.reason)] : []))
  if (failed.length) throw new LabError('stop_not_sent', failed.join(' · '))
  const devices = answers.flatMap(({ device_id, answer }) => (answer.status === 'fulfilled' ? [{ device_id, ...answer.value }] : []))
  const success = devices.every((device) => device.success)
  return { success, message: success ? 'all devices stopped' : 'stop sent to all devices, not confirmed by each', devices }
}

// The equipment behind drivers: the real instruments, or their simulators.

import type { Person, PlateWhereabouts } from '../../devices/device.ts'
import type { Instrument } from '../../devices/instrument.ts'
import { heldOf, type MoveName, operations, type Performable } from '../../devices/operations.ts'
import { isQuestion, readings } from '../../devices/reading_table.ts'
import type { Readings } from '../../devices/readings.ts'
import type { OperationRecord, OperationResult } from '../../devices/records.ts'
import type { Registry } from '../../devices/registry.ts'
import { type CarriedLabware, knowsNoHeights, obstaclesOn, raised, type Way, whyNoLids } from '../../devices/way.ts'
import { LabError } from '../../errors.ts'
import { type Clock, sleep } from '../../kit/clock.ts'
import { SerialQueue } from '../../kit/serial_queue.ts'
import type { Teachpoints } from '../../teachpoints/store.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import { taughtWay } from '../../teachpoints/way.ts'
import { slotOf } from '../state/slots.ts'
import type {
  BeforeMotion,
  Carrying,
  DeviceCondition,
  DeviceIdentity,
  Equipment,
  LatchedFault,
  Performing,
  SimulatorHand,
} from './equipment.ts'

type DrivenEquipmentOptions = {
  registry: Registry
  /** The readings of these devices; without them, runs keep none. */
  readings?: Readings
  teachpoints: Pick<Teachpoints, 'list'>
  /** Whether a run clears the stop or fault of a device that it needs again. Only for simulators: a person has to check a real device first. */
  forgives: boolean
  clock: Clock
  /** The fault controls of the simulators, by device, if the simulators belong to runs. */
  simulators?: ReadonlyMap<string, SimulatorHand>
  /** The simulated scanners of a real bench, by device; default: `simulators`. */
  scanners?: ReadonlyMap<string, Pick<SimulatorHand, 'show'>>
}

/**
 * The operations that precede another one, if the device has them. They are sent each time, because devices do not report their position and a
 * repeated operation moves nothing. A sealer or peeler draws in the plate by itself.
 */
const before: Partial<Record<Performable, readonly Performable[]>> = {
  shake: ['lock_plate', 'close'],
  centrifuge: ['close'],
}

/** The operations before an arm reaches in, if the device has them. */
const toReachIn: readonly Performable[] = ['unlock_plate', 'open']
/** The longest wait for another caller's operation to end, short enough that the caller's own operation does not become late. */
const patience_ms = 8000
/** The most calls that may wait for one device. */
const mostWaiting = 1000

export class DrivenEquipment implements Equipment {
  readonly #registry: Registry
  readonly readings?: Readings
  readonly #teachpoints: DrivenEquipmentOptions['teachpoints']
  readonly #forgives: boolean
  readonly #clock: Clock
  readonly #simulators: ReadonlyMap<string, SimulatorHand>
  readonly #scanners: ReadonlyMap<string, Pick<SimulatorHand, 'show'>>
  /** The queues of callers, by device. A device with several sites may have several callers. */
  readonly #queues = new Map<string, SerialQueue>()

  constructor({ registry, readings, teachpoints, forgives, clock, simulators = new Map(), scanners = simulators }: DrivenEquipmentOptions) {
    this.#simulators = simulators
    this.#scanners = scanners
    this.#registry = registry
    if (readings) this.readings = readings
    this.#teachpoints = teachpoints
    this.#forgives = forgives
    this.#clock = clock
  }

  isReal(device_id: string): boolean {
    return this.#registry.all().some((device) => device.device_id === device_id && device.driven && !device.simulated)
  }

  mustBeUsable(device_id: string): void {
    const instrument = this.#registry.find(device_id)
    if (!this.#forgives) instrument.condition.mustNotBeLatched()
    instrument.mustBeUsable()
  }

  timeScale(device_id: string): number {
    return this.#registry.find(device_id).time_scale
  }

  faults(): LatchedFault[] {
    return this.#registry.all().flatMap((instrument) => {
      const { device_id, fault } = instrument.info()
      return fault ? [{ device_id, error: fault.error, isStop: fault.error_type === 'Stopped', since: fault.since }] : []
    })
  }

  mayMove(transporter_id: string): boolean {
    const transporter = this.#registry.all().find(({ device_id }) => device_id === transporter_id)
    if (!transporter?.driven || transporter.abilities.person) return false
    const { halts, latch } = transporter.condition
    return halts.isOwed || latch.fault?.may_still_be_moving === true
  }

  heatsTo(device_id: string): number | null | undefined {
    const { heating } = this.#registry.find(device_id).info()
    return heating && !heating.is_lowest ? heating.target : undefined
  }

  identityOf(device_id: string): DeviceIdentity | undefined {
    const instrument = this.#registry.all().find((device) => device.device_id === device_id)
    if (!instrument) return undefined
    const { type, driver, simulated, identity } = instrument.info()
    const known = { serial: identity?.serial_number ?? null, firmware: identity?.firmware_version ?? null }
    const model = identity?.model ?? instrument.abilities.model
    return { type, driver, is_simulated: simulated, model, ...known, units: instrument.questions.units }
  }

  teachpointsTo(transporter_id: string, position: string): Teachpoint[] {
    const points = this.#teachpoints.list(transporter_id)
    const way = new Set<Teachpoint>()
    let next: string | undefined = position
    while (next !== undefined) {
      const point = points.find(({ name }) => name === next)
      // The move itself refuses a way that leads in a circle.
      if (!point || way.has(point)) break
      way.add(point)
      next = point.gateway
    }
    return [...way]
  }

  simulator(device_id: string): SimulatorHand | undefined {
    return this.#simulators.get(device_id)
  }

  show(scanner_id: string, barcode: string | null): boolean {
    return this.isReal(scanner_id) || (this.#scanners.get(scanner_id)?.show?.(barcode) ?? false)
  }

  /**
   * Holds a device for an execution. Returns the function that releases it. Throws `locked` if another execution holds it, and for a person whom a key has
   * leased: an instrument refuses its operations, and a person gets none.
   */
  hold(device_id: string, execution_id: string): () => void {
    const { lock, abilities } = this.#registry.find(device_id)
    if (abilities.person) lock.admit(undefined)
    return lock.hold(execution_id)
  }

  isInitialized(device_id: string): boolean {
    return this.#registry.find(device_id).condition.isInitialized
  }

  async conditionOf(device_id: string): Promise<DeviceCondition> {
    const instrument = this.#registry.find(device_id)
    const { isInitialized: initialized } = instrument.condition
    // Asking a device that is not initialized would fail, or latch a fault again.
    const isAsked = initialized && instrument.abilities.knows('get_temperature')
    const reading = isAsked ? await instrument.questions.ask('get_temperature').catch(() => null) : null
    return { initialized, temperature: reading?.temperature ?? null, typical: instrument.typical }
  }

  conditionWhenNew(device_id: string): DeviceCondition {
    return { initialized: false, temperature: null, typical: this.#registry.find(device_id).typical }
  }

  async ready(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void> {
    await this.#inTurn(device_id, () => this.#initialized(device_id, signal, beforeMotion))
  }

  async perform(
    device_id: string,
    operation: string,
    params: Readonly<Record<string, unknown>>,
    { signal, begun, attach }: Performing,
  ): Promise<unknown> {
    signal.throwIfAborted()
    const instrument = this.#registry.find(device_id)
    const name = known(operation, instrument)
    if (name === 'initialized') return { is_initialized: instrument.condition.isInitialized }
    if (isQuestion(name)) return instrument.questions.ask(name)
    instrument.abilities.mustKnow(name)
    // Values that come from variables have not been checked before.
    const taken = instrument.abilities.paramsOf(name, params)
    mustBeFit(instrument)
    if (name === 'initialize') return this.#initialize(instrument, signal)
    await this.ready(device_id, signal)
    await this.#tellAll(instrument, before[name as Performable] ?? [], signal)
    // The caller sets the time limit, and reports a late call.
    return this.#untilAborted(instrument, signal, (noted) => {
      const onBegun = (record: OperationRecord) => {
        noted(record)
        begun?.(record.operation_id)
      }
      return instrument.perform(name, taken, { deadline: 'caller', begun: onBegun, attach })
    })
  }

  fetching(device_id: string): Promise<void> | undefined {
    return this.#registry.find(device_id).abilities.fetching
  }

  async open(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void> {
    await this.#inTurn(device_id, async () => {
      const instrument = await this.#initialized(device_id, signal, beforeMotion)
      if (toReachIn.some((name) => instrument.abilities.knows(name))) await beforeMotion?.()
      await this.#tellAll(instrument, toReachIn, signal)
      // A device without a door or clamp gets no command above that it could refuse while it is busy.
      await this.#patiently(async () => instrument.operation.mustBeIdle(), signal)
    })
  }

  mustReach(transporter_id: string, positions: readonly string[]): void {
    mustBeFit(this.#registry.find(transporter_id))
    const ways = positions.flatMap((position) => this.#wayTo(transporter_id, position) ?? [])
    const obstacles = obstaclesOn(ways, transporter_id, this.#registry.find(transporter_id).abilities.skills ?? new Set())
    if (obstacles.length > 0) throw new LabError('invalid', obstacles.join('; '))
  }

  mustGripLids(transporter_id: string, positions: readonly string[]): void {
    const { abilities, simulated } = this.#registry.find(transporter_id)
    if (abilities.person) return
    const ways = positions.flatMap((position) => this.#wayTo(transporter_id, position) ?? [])
    const why = abilities.knowsPositions && !simulated ? knowsNoHeights(transporter_id) : whyNoLids(ways, transporter_id)
    if (why !== undefined) throw new LabError('invalid', why)
  }

  person(transporter_id: string): Person | undefined {
    const transporter = this.#registry.all().find(({ device_id }) => device_id === transporter_id)
    return transporter?.simulated ? undefined : transporter?.abilities.person
  }

  gripper(transporter_id: string, labware: CarriedLabware): Promise<'empty' | 'full' | null> {
    return this.#registry.find(transporter_id).witness.gripper(labware)
  }

  whereIsPlate(storage_id: string): Promise<PlateWhereabouts | null> {
    return this.#registry.find(storage_id).witness.whereIsPlate()
  }

  async carry(transporter_id: string, verb: MoveName, { position, from, to, labware, signal, begun }: Carrying): Promise<void> {
    mustBeFit(this.#registry.find(transporter_id))
    await this.ready(transporter_id, signal)
    const instrument = this.#registry.find(transporter_id)
    const transfer = instrument.abilities.knows('retrieve') ? transferOf(from, to) : undefined
    // A storage takes the labware and sets it down in one operation, which is the place.
    if (transfer && (verb === 'pick' || from === to)) return
    const taught = transfer ? null : this.#wayTo(transporter_id, position)
    const way = taught && raised(taught, labware.lift_mm ?? 0)
    if (way === undefined) throw new LabError('invalid', whyNoLids([taught!], transporter_id)!)
    await this.#untilAborted(instrument, signal, (noted) => {
      const onBegun = (record: OperationRecord) => {
        noted(record)
        begun?.(record.operation_id)
      }
      if (transfer) return instrument.perform(transfer.operation, { slot: transfer.slot }, { begun: onBegun })
      return instrument.carry(verb, { position, way, labware }, { begun: onBegun })
    })
  }

  /** Initializes the device if necessary, and returns it. */
  async #initialized(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<Instrument> {
    signal.throwIfAborted()
    const instrument = this.#registry.find(device_id)
    if (instrument.condition.isInitialized) return instrument
    await beforeMotion?.()
    await this.#initialize(instrument, signal)
    return instrument
  }

  async #initialize(instrument: Instrument, signal: AbortSignal): Promise<OperationResult> {
    if (!this.#forgives) instrument.condition.mustNotBeLatched()
    return this.#tell(instrument, 'initialize', {}, signal)
  }

  #inTurn<T>(device_id: string, prepare: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(device_id) ?? new SerialQueue(mostWaiting)
    this.#queues.set(device_id, queue)
    return queue.run(prepare)
  }

  async #tellAll(instrument: Instrument, names: readonly Performable[], signal: AbortSignal): Promise<void> {
    for (const name of names) if (instrument.abilities.knows(name)) await this.#tell(instrument, name, {}, signal)
  }

  #tell(
    instrument: Instrument,
    name: Performable,
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<OperationResult> {
    mustBeFit(instrument)
    return this.#untilAborted(instrument, signal, (begun) => instrument.perform(name, params, { begun }))
  }

  /**
   * Waits for an operation. An abort halts the device if the operation has begun, which latches a fault. It then rejects with the signal's reason, or
   * with `stop_not_sent` if the halt did not reach the device.
   */
  async #untilAborted(
    instrument: Instrument,
    signal: AbortSignal,
    begin: (begun: (record: OperationRecord) => void) => Promise<OperationResult>,
  ): Promise<OperationResult> {
    signal.throwIfAborted()
    let record: OperationRecord | undefined
    let halted: Promise<unknown> = Promise.resolve()
    const onAbort = () => {
      if (record?.status === 'running') halted = this.#registry.halt(instrument.device_id, { by: 'its run' })
      // Awaited below, after the operation has ended; this handler only prevents an unhandled rejection.
      halted.catch(() => undefined)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const attempt = () =>
        begin((begun) => {
          record = begun
        })
      const result = await this.#patiently(attempt, signal)
      if (!result.success && !signal.aborted) throw stopped(instrument.device_id, record)
      return result
    } finally {
      signal.removeEventListener('abort', onAbort)
      await halted
      signal.throwIfAborted()
    }
  }

  /** Repeats the attempt while the device is busy, if its operation is expected to end in time. */
  async #patiently<Answer>(attempt: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    const until_ms = this.#clock.now() + patience_ms
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof LabError) || error.code !== 'busy') throw error
        const wait_ms = 1000 * (error.retry_after_s ?? 1)
        if (this.#clock.now() + wait_ms > until_ms) throw error
        await sleep(this.#clock, wait_ms, signal)
      }
    }
  }

  /** Returns the taught way to a position; null for a transporter that needs none. Throws, with the remedy, if the point is not taught or cannot be used. */
  #wayTo(transporter_id: string, position: string): Way | null {
    if (this.#registry.find(transporter_id).abilities.knowsPositions) return null
    return taughtWay(this.#teachpoints, transporter_id, position)
  }
}

/** Returns the operation by which a storage makes a hop between its transfer station and a slot; undefined for a hop without a slot. */
function transferOf(from: string | undefined, to: string | undefined): { operation: 'store' | 'retrieve'; slot: number } | undefined {
  const [out, into] = [slotOf(from), slotOf(to)]
  if (out !== null) return { operation: 'retrieve', slot: out }
  return into === null ? undefined : { operation: 'store', slot: into }
}

/** Throws `invalid` for a real device that became unfit since the run was submitted. */
function mustBeFit({ device_id, abilities, simulated }: Instrument): void {
  const { unfit } = simulated ? {} : abilities
  if (unfit) throw new LabError('invalid', `${device_id}: ${unfit}`)
}

function stopped(device_id: string, record: OperationRecord | undefined): LabError {
  return new LabError('stopped', `${device_id} was stopped during ${record?.operation}; see that it is safe, then initialize it`)
}

/** Throws `invalid` for an operation that is not possible in a run. */
function known(operation: string, instrument: Instrument): string {
  if (operation in readings || instrument.abilities.own.has(operation)) return operation
  if (heldOf(operation)) throw new LabError('invalid', `no device does ${operation} in a run: it lasts only while a person holds it`)
  if (operation in operations && operation !== 'stop') return operation
  const more =
    operation === 'stop' ? 'a stop is an emergency; end an operation by its duration' : `they do ${Object.keys(operations).join(', ')}`
  throw new LabError('invalid', `no device does ${operation} in a run; ${more}`)
}

// The equipment that drivers drive: the real instruments, or simulators of them.

import type { Person } from '../../devices/device.ts'
import type { Instrument } from '../../devices/instrument.ts'
import { isQuestion, type MoveName, operations, type Performable, readings } from '../../devices/operations.ts'
import type { OperationRecord, OperationResult } from '../../devices/records.ts'
import type { Registry } from '../../devices/registry.ts'
import { obstaclesOn, type Way } from '../../devices/way.ts'
import { LabError } from '../../errors.ts'
import { type Clock, sleep } from '../../kit/clock.ts'
import { SerialQueue } from '../../kit/serial_queue.ts'
import type { Teachpoints } from '../../teachpoints/store.ts'
import { wayTo } from '../../teachpoints/way.ts'
import type { BeforeMotion, Carrying, Condition, Equipment, LatchedFault, Performing, SimulatorHand } from './equipment.ts'

type DrivenEquipmentOptions = {
  registry: Registry
  teachpoints: Pick<Teachpoints, 'list'>
  /**
   * Whether a run that needs the device again clears its stop or fault. Never for a real device, which a person
   * has to check first. A simulator has no person and no other way back.
   */
  forgives: boolean
  clock: Clock
  /** The fault controls of its simulators by device, if these belong to runs alone. */
  simulators?: ReadonlyMap<string, SimulatorHand>
}

/**
 * The operations that precede another one, if the device has them. They are sent each time, because no device reports its position, and
 * a repeated one moves nothing. A sealer or peeler draws the plate in by itself.
 */
const before: Partial<Record<Performable, readonly Performable[]>> = {
  shake: ['lock_plate', 'close'],
  centrifuge: ['close'],
}

/** The operations before an arm reaches in, if the device has them. */
const toReachIn: readonly Performable[] = ['unlock_plate', 'open']
/** The longest wait for another caller's operation to end. It is too short to make the own operation late. */
const patience_ms = 8000
/** The most calls that may wait for one device. */
const mostWaiting = 1000

export class DrivenEquipment implements Equipment {
  readonly #registry: Registry
  readonly #teachpoints: DrivenEquipmentOptions['teachpoints']
  readonly #forgives: boolean
  readonly #clock: Clock
  readonly #simulators: ReadonlyMap<string, SimulatorHand>
  /** Keyed by device: the queue of its callers, of which a device with several sites may have several. */
  readonly #queues = new Map<string, SerialQueue>()

  constructor({ registry, teachpoints, forgives, clock, simulators = new Map() }: DrivenEquipmentOptions) {
    this.#simulators = simulators
    this.#registry = registry
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

  heatsTo(device_id: string): number | null | undefined {
    const { heating } = this.#registry.find(device_id).info()
    return heating && !heating.is_lowest ? heating.target : undefined
  }

  simulator(device_id: string): SimulatorHand | undefined {
    return this.#simulators.get(device_id)
  }

  /**
   * Holds a device for an execution. Returns the function that releases it. Throws `locked` if another execution holds it, and for a person whom a key has
   * leased: an instrument refuses its operations, and a person gets none.
   */
  hold(device_id: string, execution_id: string): () => void {
    const { lock, person } = this.#registry.find(device_id)
    if (person) lock.admit(undefined)
    return lock.hold(execution_id)
  }

  isInitialized(device_id: string): boolean {
    return this.#registry.find(device_id).condition.isInitialized
  }

  async conditionOf(device_id: string): Promise<Condition> {
    const instrument = this.#registry.find(device_id)
    const { isInitialized: initialized } = instrument.condition
    // A question to a device that is not ready would fail, or latch a fault again.
    const isAsked = initialized && instrument.abilities.knows('get_temperature')
    const reading = isAsked ? await instrument.questions.ask('get_temperature').catch(() => null) : null
    return { initialized, temperature: reading?.temperature ?? null, typical: instrument.typical }
  }

  conditionWhenNew(device_id: string): Condition {
    return { initialized: false, temperature: null, typical: this.#registry.find(device_id).typical }
  }

  async ready(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void> {
    await this.#inTurn(device_id, () => this.#initialized(device_id, signal, beforeMotion))
  }

  async perform(
    device_id: string,
    operation: string,
    params: Readonly<Record<string, unknown>>,
    { signal, begun }: Performing,
  ): Promise<unknown> {
    signal.throwIfAborted()
    const instrument = this.#registry.find(device_id)
    const name = known(operation, instrument)
    if (name === 'initialized') return { is_initialized: instrument.condition.isInitialized }
    if (isQuestion(name)) return instrument.questions.ask(name)
    instrument.abilities.mustKnow(name)
    // The values of variables were not checked before.
    const taken = instrument.abilities.paramsOf(name, params)
    if (name === 'initialize') return this.#initialize(instrument, signal)
    await this.ready(device_id, signal)
    await this.#tellAll(instrument, before[name as Performable] ?? [], signal)
    // The caller has the time limit, and reports a late call.
    return this.#untilAborted(instrument, signal, (noted) => {
      const onBegun = (record: OperationRecord) => {
        noted(record)
        begun?.()
      }
      return instrument.perform(name, taken, { deadline: 'caller', begun: onBegun })
    })
  }

  async open(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void> {
    await this.#inTurn(device_id, async () => {
      const instrument = await this.#initialized(device_id, signal, beforeMotion)
      if (toReachIn.some((name) => instrument.abilities.knows(name))) await beforeMotion?.()
      await this.#tellAll(instrument, toReachIn, signal)
      // A device without door and clamp does not refuse by itself.
      await this.#patiently(async () => instrument.operation.mustBeIdle(), signal)
    })
  }

  mustReach(transporter_id: string, positions: readonly string[]): void {
    const ways = positions.flatMap((position) => this.#wayTo(transporter_id, position) ?? [])
    const obstacles = obstaclesOn(ways, transporter_id, this.#registry.find(transporter_id).abilities.skills ?? new Set())
    if (obstacles.length > 0) throw new LabError('invalid', obstacles.join('; '))
  }

  person(transporter_id: string): Person | undefined {
    const transporter = this.#registry.all().find(({ device_id }) => device_id === transporter_id)
    return transporter?.simulated ? undefined : transporter?.person
  }

  gripper(transporter_id: string): Promise<'empty' | 'full' | null> {
    return this.#registry.find(transporter_id).gripper()
  }

  async carry(transporter_id: string, verb: MoveName, { position, labware, signal }: Carrying): Promise<void> {
    await this.ready(transporter_id, signal)
    const instrument = this.#registry.find(transporter_id)
    const way = this.#wayTo(transporter_id, position)
    await this.#untilAborted(instrument, signal, (begun) => instrument.carry(verb, { position, way, labware }, { begun }))
  }

  /** Returns the device after it was initialized if necessary. */
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
    return this.#untilAborted(instrument, signal, (begun) => instrument.perform(name, params, { begun }))
  }

  /**
   * Waits for an operation. An abort halts the device if it has begun, which latches a fault, and rejects with the
   * signal's reason; or with `stop_not_sent` if the halt did not reach it.
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
      if (record?.status === 'running') halted = this.#registry.halt(instrument.device_id, 'its run')
      // Awaited below, after the operation has ended.
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

  /** Tries again while the device is busy, if its operation is expected to end in time. */
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

  /** Returns the present way to a point; null for a transporter that needs none. Throws the next step if the point is not taught, or cannot be used. */
  #wayTo(transporter_id: string, position: string): Way | null {
    if (this.#registry.find(transporter_id).abilities.knowsPositions) return null
    const points = this.#teachpoints.list(transporter_id)
    const point = points.find(({ name }) => name === position)
    if (point) return wayTo(point, points)
    throw new LabError('not_found', `${transporter_id} has no teachpoint ${position}; teach it that place`)
  }
}

function stopped(device_id: string, record: OperationRecord | undefined): LabError {
  return new LabError('stopped', `${device_id} was stopped during ${record?.operation}; see that it is safe, then initialize it`)
}

/** Throws `invalid` for an operation that is not possible in a run. */
function known(operation: string, instrument: Instrument): string {
  if (operation in readings || instrument.abilities.own.has(operation)) return operation
  if (operation in operations && operation !== 'stop') return operation
  const more =
    operation === 'stop' ? 'a stop is an emergency; end an operation by its duration' : `they do ${Object.keys(operations).join(', ')}`
  throw new LabError('invalid', `no device does ${operation} in a run; ${more}`)
}

// For tests and benchmarks: a runtime without a service, and the events that it emits.

import { type Context, type RuntimeEvent, runtimeEvent } from '../events/event.ts'
import type { IncidentCategory } from '../events/incidents.ts'
import type { StateSource } from '../events/states.ts'
import type { Equipment } from '../workflow/equipment/equipment.ts'
import { type InjectedFault, PureEquipment } from '../workflow/equipment/pure_equipment.ts'
import type { Bench } from '../workflow/plans/bench.ts'
import { compileLibrary, type Source } from '../workflow/plans/library.ts'
import { movesOf } from '../workflow/plans/timing.ts'
import type { TopologyInput } from '../workflow/plans/topology_schema.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import { Runtime } from '../workflow/runtime.ts'
import type { RuntimeOptions } from '../workflow/runtime_options.ts'
import type { RunStates } from '../workflow/state/entry.ts'
import { type Checkpoint, checkpointOf } from '../workflow/state/run.ts'
import type { SubmissionRequest } from '../workflow/state/submission_request.ts'
import type { LabwareThread } from '../workflow/threads/thread.ts'

/** Nothing is configured: PURE_SIM only. */
export const emptyBench: Bench = { devices: [], hasTeachpoint: () => false }

/** `onTold` is called synchronously with each event. */
type Injected = {
  faults?: readonly InjectedFault[]
  /** The first number of ids. */
  ids?: number
  onTold?(event: RuntimeEvent): void
}

/** Returns a runtime with numbered ids, which are the same in every run. */
export function testRuntime(documents: readonly unknown[], more: Partial<RuntimeOptions> & Injected = {}) {
  const { faults = [], ids: first = 0, onTold, ...options } = more
  const told: RuntimeEvent[] = []
  const incidents: { category: IncidentCategory; message: string; thread_id: string | null }[] = []
  const warnings: string[] = []
  let time = 0
  let ids = first
  const newId = () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`
  const emit = (event_name: string, context: Context, execution_id = 'system') => {
    const event = runtimeEvent(event_name, execution_id, ++time / 1e6, context)
    told.push(event)
    onTold?.(event)
    return event
  }
  const incident: RuntimeOptions['hub']['incident'] = (
    category,
    message,
    { thread_id = null, severity = 'ERROR', recovery_action = 'NONE', execution_id = null } = {},
  ) => {
    incidents.push({ category, message, thread_id })
    const context = { incident_id: newId(), category, severity, message, recovery_action, execution_id, thread_id }
    emit(`INCIDENT.${context.incident_id}.${category}`, context, execution_id ?? 'system')
    return { ...context, detail: {}, timestamp: time / 1e6, acknowledged: null }
  }
  const sources: Source[] = documents.map((input, i) => ({ origin: `document ${i}`, form: 'typescript', input }))
  const library = compileLibrary(sources, emptyBench)
  const [fault] = library.faults
  if (fault) throw new Error(fault.reason)
  const runtime = new Runtime({
    hub: {
      emit,
      incident,
      registerSink: () => {},
      unregisterSink: () => {},
    } as unknown as RuntimeOptions['hub'],
    clock: { now: () => performance.now(), after: () => () => {} },
    now: () => time / 1e6,
    warn: (message) => warnings.push(message),
    bench: emptyBench,
    library,
    newId,
    simulate: ({ document }, clock, { durations, conditions } = {}) =>
      new PureEquipment({ clock, transporters: movesOf(document, durations), faults, durations, conditions }),
    ...options,
  })
  return { runtime, told, incidents, warnings }
}

type Asked = Partial<SubmissionRequest> & { workflow: string }

/** Submits in PURE_SIM and waits for the end. */
export async function run(runtime: Runtime, asked: Asked): Promise<Execution> {
  const execution = await begin(runtime, asked)
  await runtime.over(execution)
  return execution
}

export async function begin(runtime: Runtime, asked: Asked): Promise<Execution> {
  const { execution_id } = await runtime.submit({
    run_mode: 'PURE_SIM',
    groups: [],
    batch_mode: 'STANDALONE',
    variables: {},
    operator_id: null,
    ...asked,
  })
  return runtime.runs.get(execution_id)!
}

/** Returns events as `THREAD plate MOVING`, with names in place of ids, so that traces can be compared. */
export function trace(told: readonly RuntimeEvent[]): string[] {
  return told.map(({ entity_type, status, context }) => {
    const { thread_name, method_name, action_name, group_id, event_name, instruction } = context as Record<
      string,
      string | null | undefined
    >
    const names: Record<string, string | null | undefined> = {
      THREAD: thread_name,
      METHOD: method_name,
      ACTION: 'pause_reason' in context ? `move of ${thread_name}` : (action_name ?? null),
      GROUP: group_id,
      CUSTOM: event_name,
      OPERATOR: instruction,
    }
    const name = names[entity_type]
    return name ? `${entity_type} ${name} ${status}` : `${entity_type} ${status}`
  })
}

/** Waits, turn by turn of the event loop, until `isSo` returns true. */
export async function until(isSo: () => boolean, what = 'it'): Promise<void> {
  for (let turns = 0; turns < 20_000; turns++) {
    if (isSo()) return
    await new Promise(setImmediate)
  }
  throw new Error(`${what} did not happen`)
}

/** Resolves with the thread of that name, when it has this status. */
export async function threadIn(execution: Execution, name: string, status: string): Promise<LabwareThread> {
  const find = () => [...execution.threads.values()].find((thread) => thread.name === name)
  await until(() => find()?.status.current === status, `${name} in ${status} (it is ${find()?.status.current})`)
  return find()!
}

/** Returns a configuration with a driver for each arm and each declared device of a topology. */
export function drivenBench({ devices = {}, transporters = {} }: TopologyInput): Bench {
  const driven = (device_id: string, type: 'shaker' | 'transporter', operations: string[] = []) =>
    ({ device_id, type, driven: true, simulated: true, operations, limits: {} }) as const
  return {
    devices: [
      ...Object.entries(devices).map(([id, { operations = {} }]) => driven(id, 'shaker', Object.keys(operations))),
      ...Object.keys(transporters).map((id) => driven(id, 'transporter')),
    ],
    hasTeachpoint: () => true,
  }
}

/** Returns a LIVE runtime with a loaded topology, on a bench that does everything at once. */
export function liveRuntime(topology: TopologyInput, workflows: readonly unknown[], more: Parameters<typeof testRuntime>[1] = {}) {
  const tested = testRuntime([topology, ...workflows], { live: instantBench(), bench: drivenBench(topology), ...more })
  tested.runtime.load(topology.name)
  return tested
}

export function instantBench(more: Partial<Equipment> = {}): Equipment {
  const at = async () => {}
  return { ready: at, open: at, carry: at, perform: async () => ({ success: true, message: 'done' }), ...more }
}

/** Keeps the state of a run after each transaction. */
export class Kept implements RunStates {
  readonly all: Map<string, unknown>[] = []
  readonly #keys = new Map<string, unknown>()
  readonly #sources = new Map<string, StateSource>()
  #left: (() => void) | undefined
  #next: Promise<void> | undefined

  add(execution_id: string, source: StateSource): void {
    this.#sources.set(execution_id, source)
    this.changed()
  }

  changed(): void {
    void this.persist()
  }

  /** Resolves at the end of this turn. */
  persist(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#next = undefined
        this.#write()
        resolve()
      })
    })
    return this.#next
  }

  leave(left: () => void): void {
    this.#left = left
    this.changed()
  }

  drop(execution_id: string): void {
    this.#sources.delete(execution_id)
  }

  /** Called after each transaction. */
  protected written(_changes: number): void {
    this.all.push(new Map(this.#keys))
  }

  #write(): void {
    let changed = 0
    for (const source of this.#sources.values()) {
      for (const [key, text] of source.changes()) {
        changed++
        if (text === null) this.#keys.delete(key)
        else this.#keys.set(key, JSON.parse(text))
      }
    }
    if (changed > 0) this.written(changed)
    if (this.#left) this.#sources.clear()
    this.#left?.()
    this.#left = undefined
  }
}

type Keys = ReadonlyMap<string, unknown>

/** Restores a run from the state after one transaction, with the labware at rest. */
export function takeUp(runtime: Runtime, keys: Keys, saved: Checkpoint = checkpointOf(keys)!): Promise<Execution> {
  runtime.standing.recall(keys)
  return runtime.restore(saved)
}

/** Keeps, for each transaction, also the number of events of `told` that it includes. */
export class KeptBeside extends Kept {
  readonly told: readonly RuntimeEvent[]
  readonly #at: number[] = []

  constructor(told: readonly RuntimeEvent[]) {
    super()
    this.told = told
  }

  protected override written(changes: number): void {
    super.written(changes)
    this.#at.push(this.told.length)
  }

  get saves(): { at: number; keys: Keys; saved: Checkpoint }[] {
    return this.all.map((keys, i) => ({ at: this.#at[i]!, keys, saved: checkpointOf(keys)! }))
  }
}

// For tests and benchmarks: several runs on one bench and one clock that jumps, each submitted at its time with its priority.

import { flatId } from '../kit/flat_id.ts'
import type { Bench } from '../workflow/plans/bench.ts'
import { compileLibrary, type Source } from '../workflow/plans/library.ts'
import { RunEnvironments } from '../workflow/run_environments.ts'
import { Execution } from '../workflow/runs/execution.ts'
import { Operator } from '../workflow/runs/operator.ts'
import type { FindSchedule } from '../workflow/schedule/problem.ts'
import type { TimelineRow } from '../workflow/threads/timeline.ts'
import { oneArm, severalArms, standing, stored, type TestBench, workflowOf } from './documents.ts'
import { randomFrom } from './scheduler_runs.ts'

/** The submission of one run; `at_s` by the clock of the bench. */
export type Order = { readonly workflow: string; readonly at_s: number; readonly priority?: number; readonly plan?: 'on' | 'off' }

/** A run that was ordered. The times of `rows` are those of the clock of the bench. `end_s` is null for a run that did not complete. */
export type Ended = {
  readonly order: Order
  readonly end_s: number | null
  readonly rows: readonly TimelineRow[]
  /** For each thread of the bench that had a device for its action when the run came, this device. */
  readonly given: ReadonlyMap<string, string>
}

type Documents = { readonly topology: object; readonly workflows: readonly object[] }

const nothing: Bench = { devices: [], hasTeachpoint: () => false }

/** Makes the runs. Resolves when nothing is left to do on the bench. `meanwhile` gets each run when it has begun. */
export async function ordered(
  { topology, workflows }: Documents,
  orders: readonly Order[],
  { search, begun = () => {} }: { search?: FindSchedule; begun?(execution: Execution, order: Order): void } = {},
): Promise<Ended[]> {
  const sources = [topology, ...workflows].map((input, i): Source => ({ origin: `document ${i}`, form: 'typescript', input }))
  const library = compileLibrary(sources, nothing)
  if (library.faults[0]) throw new Error(library.faults[0].reason)
  const open = new Map<Order, Execution>()
  const given = new Map<Order, ReadonlyMap<string, string>>()
  const environments = new RunEnvironments(
    { clock: { now: () => 0, after: () => () => {} }, newId: flatId, ...(search && { search }) },
    () => [...open.values()].filter(({ isOver }) => !isOver),
  )
  const { environment, idle } = environments.rehearsal([...library.topologies.values()][0]!, 'PURE_SIM')
  const { clock } = environment
  const around: ConstructorParameters<typeof Execution>[2]['around'] = {
    hub: {
      emit: (event_name, context, execution_id = '') => ({
        ...{ event_name, execution_id, timestamp: 0, entity_type: '', entity_id: '', status: '', context },
      }),
      incident: (category, message) => ({
        ...{ incident_id: '', severity: 'INFO', recovery_action: 'NONE', execution_id: null, thread_id: null, detail: {}, timestamp: 0 },
        ...{ acknowledged: null, category, message },
      }),
    },
    operator: new Operator(() => 0),
    system: undefined,
    warn: () => {},
    now: () => clock.now() / 1000,
    clock,
    open: () => [...open.values()].filter(({ isOver }) => !isOver),
    ended: () => {},
  }
  const begin = (order: Order) => {
    const execution = new Execution(library.workflows.get(order.workflow)!, environment, { isJoinable: false, around })
    const live = [...open.values()].flatMap((other) => other.live())
    given.set(order, new Map(live.flatMap(({ thread_id, action }) => (action?.device ? [[thread_id, action.device]] : []))))
    open.set(order, execution)
    const { workflow, priority = 0, plan } = order
    const usual = { run_mode: 'PURE_SIM', batch_mode: 'STANDALONE', variables: {}, operator_id: null } as const
    const request = { ...usual, groups: [], workflow, priority, ...(plan && { plan }) }
    execution.start(execution.add({ submission_id: flatId(), request, submitted_at: clock.now() / 1000, status: 'PENDING' }))
    begun(execution, order)
  }
  for (const order of orders) clock.after(order.at_s * 1000, () => begin(order))
  await idle
  return orders.map((order) => {
    const { timeline, phase } = open.get(order)!
    const from_s = order.at_s
    const rows = timeline.rows().map((row) => ({ ...row, started: added(row.started, from_s), ended: added(row.ended, from_s) }))
    const isCompleted = phase.current === 'completed'
    return { order, rows, given: given.get(order)!, end_s: isCompleted ? Math.max(...rows.map(({ ended }) => ended ?? 0)) : null }
  })
}

const added = (seconds: number | null, from_s: number) => (seconds === null ? null : seconds + from_s)

export type Crowd = {
  /** How many runs are open when the urgent one comes. */
  readonly runs: number
  readonly devices: number
  readonly parks: number
  readonly arms: 1 | 2
  /** The plates of each of the open runs, and those of the urgent one. */
  readonly plates: number
  readonly urgentPlates: number
  /** Whether the urgent plates come out of a storage, so that the urgent run can come over and over. */
  readonly isStored?: boolean
}

/** Random documents: `run-1` and so on, and `urgent`. Each plate starts at a pad of its own, visits devices in a random order, and ends at its pad. */
export function crowdOf(
  seed: number,
  { runs, devices, parks, arms, plates, urgentPlates, isStored = false }: Crowd,
): Documents & { routes: Step[][] } {
  const random = randomFrom(seed)
  const names = Array.from({ length: devices }, (_, i) => `d${i + 1}`)
  const pads: string[] = []
  const routes: Step[][] = []
  const workflow = (name: string, count: number) => {
    const threads: Record<string, object> = {}
    for (let plate = 0; plate < count; plate++) {
      const isFromStorage = isStored && name === 'urgent'
      const pad = `in${pads.length + 1}`
      if (!isFromStorage) pads.push(pad)
      const route = shuffled(names, random)
        .slice(0, Math.max(2, devices - random(3)))
        .map((device) => ({ device, seconds: 60 + random(240) }))
      if (name === 'urgent') routes.push(route)
      const steps = route.map(({ device, seconds }) => ({ action: { do: 'work', on: device, seconds } }))
      threads[`${name}_${plate + 1}`] = { ...(isFromStorage ? stored('store') : standing(pad)), steps }
    }
    return workflowOf(name, threads)
  }
  const workflows = [...Array.from({ length: runs }, (_, i) => workflow(`run-${i + 1}`, plates)), workflow('urgent', urgentPlates)]
  const bench: TestBench = {
    pads,
    parking: Array.from({ length: parks }, (_, i) => `p${i + 1}`),
    storages: isStored ? ['store'] : [],
    nests: names,
    operations: Object.fromEntries(names.map((name) => [name, { work: null }])),
  }
  const all = [...pads, ...(bench.parking as string[]), ...(bench.storages as string[]), ...names]
  return { topology: arms === 1 ? oneArm(bench) : severalArms({ left: all, right: all }, bench), workflows, routes }
}

export type Step = { readonly device: string; readonly seconds: number }

function shuffled<Item>(items: readonly Item[], random: (below: number) => number): Item[] {
  const left = [...items]
  return items.map(() => left.splice(random(left.length), 1)[0]!)
}

/** A hop of the arms of `crowdOf`, in s. */
const hop_s = 12

/**
 * Returns the seconds by which an urgent run must end later than alone, because of work that was under way when it came: a hop, where all arms were busy,
 * and the work at each device that other labware had already been given, until a hop out of it. Such work is neither interrupted nor called off. Each
 * plate of the urgent run is looked at alone, as if it had the rest of the bench to itself.
 */
export function unavoidable(routes: readonly (readonly Step[])[], { order: { at_s }, given }: Ended, others: readonly Ended[]): number {
  const rows = others.flatMap(({ rows }) => rows)
  const isUnderWay = ({ started, ended }: TimelineRow) => started !== null && ended !== null && started <= at_s && ended > at_s
  const moves = rows.filter(({ kind }) => kind === 'move')
  const arms = new Set(moves.map(({ transporter }) => transporter))
  const busyArms = moves.filter(isUnderWay)
  const arm_s = busyArms.length < arms.size || busyArms.length === 0 ? 0 : Math.min(...busyArms.map(({ ended }) => ended! - at_s))
  const busy_s = new Map<string, number>()
  for (const { kind, device, ended, thread_id } of rows) {
    if (kind !== 'action' || device === null || ended === null || ended <= at_s || given.get(thread_id) !== device) continue
    busy_s.set(device, Math.min(busy_s.get(device) ?? Number.POSITIVE_INFINITY, ended - at_s))
  }
  const late = routes.map((route) => {
    let [now, alone] = [arm_s, 0]
    for (const { device, seconds } of route) {
      const free_s = busy_s.has(device) ? busy_s.get(device)! + hop_s : 0
      now = Math.max(now, free_s) + hop_s + seconds
      alone += hop_s + seconds
    }
    return now - alone
  })
  return Math.max(...late)
}

/** An urgent run that came while others were open. */
export type UrgentCase = {
  readonly seed: number
  /** The seconds from its submission to its end, and those on the empty bench. */
  readonly flow_s: number
  readonly alone_s: number
  /** See `unavoidable`. */
  readonly blocked_s: number
  readonly isComplete: boolean
}

type How = { plan: 'on' | 'off'; search: FindSchedule }

function randomCrowd(random: (below: number) => number): Crowd {
  const devices = 4 + random(3)
  return { runs: 4, devices, parks: random(3), arms: random(2) === 0 ? 1 : 2, plates: 1 + random(3), urgentPlates: 1 + random(2) }
}

/** Submits an urgent run, of priority 9, into four open ones at random states. */
export async function urgentCase(seed: number, { plan, search }: How): Promise<UrgentCase> {
  const random = randomFrom(seed + 1_000_000)
  const documents = crowdOf(seed, randomCrowd(randomFrom(seed)))
  const at_s = 600 + random(600)
  const open = [1, 2, 3, 4].map((i): Order => ({ workflow: `run-${i}`, at_s: random(600), plan }))
  const order: Order = { workflow: 'urgent', at_s, priority: 9, plan }
  const ended = await ordered(documents, [...open, order], { search })
  const [alone] = await ordered(documents, [{ ...order, at_s: 0 }], { search })
  const own = ended.at(-1)!
  return {
    seed,
    flow_s: (own.end_s ?? Number.POSITIVE_INFINITY) - at_s,
    alone_s: alone!.end_s!,
    blocked_s: unavoidable(documents.routes, own, ended.slice(0, -1)),
    isComplete: ended.every(({ end_s }) => end_s !== null),
  }
}

/** When the last of four open runs ended, and the bound that follows from ageing. */
export type StreamCase = { readonly seed: number; readonly end_s: number; readonly bound_s: number; readonly isComplete: boolean }

/**
 * Submits four runs, and then urgent ones over and over, more than the bench can do. Their priority is higher by `steps`. After as many hours, and one more,
 * the four go before each urgent one. Then they take at most twice the time that they take without urgent runs.
 */
export async function streamCase(seed: number, steps: number, { plan, search }: How): Promise<StreamCase> {
  const random = randomFrom(seed + 2_000_000)
  const documents = crowdOf(seed, { ...randomCrowd(randomFrom(seed)), urgentPlates: 1, isStored: true })
  const open = [1, 2, 3, 4].map((i): Order => ({ workflow: `run-${i}`, at_s: random(60), plan }))
  const alone = await ordered(documents, open, { search })
  const last = (all: readonly Ended[]) => Math.max(...all.map(({ end_s }) => end_s ?? Number.POSITIVE_INFINITY))
  const bound_s = (steps + 1) * 3600 + 2 * last(alone)
  const every_s = 120 + random(120)
  const stream = Array.from({ length: Math.ceil(bound_s / every_s) }, (_, i): Order => {
    return { workflow: 'urgent', at_s: 60 + i * every_s, priority: steps, plan }
  })
  const ended = await ordered(documents, [...open, ...stream], { search })
  return { seed, end_s: last(ended.slice(0, 4)), bound_s, isComplete: ended.every(({ end_s }) => end_s !== null) }
}

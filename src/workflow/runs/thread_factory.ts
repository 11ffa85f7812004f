// Creates the threads of a run: their names, their starts, and their labware, which is new or already stands there.

import * as v from 'valibot'
import { LabError } from '../../errors.ts'
import { didYouMeanAmong } from '../../kit/did_you_mean.ts'
import { lidOf, type ThreadPlan, type Workflow } from '../plans/plan.ts'
import type { Entry } from '../state/entry.ts'
import { type Labware, noLabware } from '../state/labware.ts'
import { ThreadState } from '../state/run.ts'
import type { Acquisition } from '../state/submission_request.ts'
import type { ThreadOrigin } from '../threads/carrier.ts'
import { knowLid } from '../threads/lid_carrier.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import { LabwareThread, type RunPorts } from '../threads/thread.ts'
import { type BarcodeRun, barcodeOf, holdersIn, readMustBeFree } from './barcodes.ts'
import { offTheBench } from './in_the_way.ts'
import type { Submission } from './submission.ts'

type NewThreadState = v.InferInput<typeof ThreadState>

type Run = RunPorts & {
  readonly submissions: readonly Submission[]
  /** Lists the other open runs on the same bench. */
  beside(): readonly BarcodeRun[]
} & BarcodeRun

export class ThreadFactory {
  /** The state of the thread that is made just now: its event CREATED comes before the run has the thread. */
  making: ThreadState | null = null
  readonly #execution: Run
  /** The state in which the names are counted. */
  readonly #entry: Entry<'execution'>
  /** The plans that have had a thread, by group. */
  readonly #had = new Set<string>()

  constructor(execution: Run, entry: Entry<'execution'>) {
    this.#execution = execution
    this.#entry = entry
  }

  /** Notes that a thread was added to the run. */
  note({ plan, origin }: LabwareThread): void {
    this.#had.add(inGroup(plan, origin))
  }

  /** Throws `conflict` if labware of an open run on the same bench has this barcode, which was read at a position, or is to get it. */
  readMustBeFree(barcode: string, position: string | null): void {
    readMustBeFree(barcode, position, [this.#execution, ...this.#execution.beside()])
  }

  /** Whether the group has had a thread of this plan. */
  hasHad(plan: ThreadPlan, origin: ThreadOrigin): boolean {
    return this.#had.has(inGroup(plan, origin))
  }

  /** Returns the origin of an added thread: the newest submission, and its group if it has exactly one. */
  originOfAnother(): ThreadOrigin {
    const { submission_id, request } = this.#execution.submissions.at(-1)!
    return { submission_id, group_id: request.groups.length === 1 ? request.groups[0]!.group_id : null }
  }

  /** Returns the plan of a thread that can begin now, at its own start or another. Throws `not_found`, `conflict`. */
  planOf(name: string, origin: ThreadOrigin, start?: string): ThreadPlan {
    const { workflow, environment } = this.#execution
    const { threads, topology } = workflow
    const plan = threads.get(name)
    if (!plan)
      throw new LabError('not_found', `workflow ${workflow.name} has no thread ${name}${didYouMeanAmong(name, [...threads.keys()])}`)
    const acquired = this.#acquisition(plan, origin)
    const position = start ?? this.#startOf(plan, acquired)
    const { positions } = topology.graph
    if (!positions.has(position))
      throw new LabError('not_found', `the topology has no place ${position}${didYouMeanAmong(position, [...positions.keys()])}`)
    if (!plan.end.positions.some((end) => end === position || topology.graph.route(position, end)))
      throw new LabError('conflict', `there is no way from ${position} to where ${name} ends`)
    mustBeFree(environment, position, workflow, plan, barcodeOf(acquired))
    return plan
  }

  thread(plan: ThreadPlan, origin: ThreadOrigin, start?: string): LabwareThread {
    const acquired = this.#acquisition(plan, origin)
    const startsAt = start ?? this.#startOf(plan, acquired)
    const barcode = barcodeOf(acquired)
    const standing = this.#standingAt(startsAt, plan, barcode)
    const labware = standing ?? this.#labwareFor(plan, barcode)
    const { environment } = this.#execution
    const beginning: NewThreadState = {
      ...origin,
      name: this.#numbered(plan.name),
      thread_id: environment.newId(),
      template: plan.name,
      starts_at: startsAt,
      status: 'CREATED',
      since: this.#execution.now(),
      labware,
      lid: this.#lidFor(plan, labware.labware_id),
      seat: environment.scheduler.whereIs(labware.labware_id) ?? null,
      frames: [{ path: `threads.${plan.name}.steps`, next: 0, is_loop: false }],
    }
    this.making = v.parse(ThreadState, beginning)
    const thread = new LabwareThread(this.#execution, plan, this.making)
    this.making = null
    if (standing) this.#takeUp(thread)
    return thread
  }

  /** Creates the thread of the operations that the run does once, which has no labware. */
  ofRun(plan: ThreadPlan, origin: ThreadOrigin): LabwareThread {
    const { environment } = this.#execution
    const beginning: NewThreadState = {
      ...origin,
      name: this.#numbered(plan.name),
      thread_id: environment.newId(),
      template: plan.name,
      starts_at: '',
      status: 'CREATED',
      since: this.#execution.now(),
      labware: { ...noLabware, template: plan.name },
      frames: [{ path: plan.name, next: 0, is_loop: false }],
    }
    return new LabwareThread(this.#execution, plan, v.parse(ThreadState, beginning))
  }

  /** Returns where a thread begins: as its submission or its plan says, or at the slot of a storage with such labware, else at a free one. */
  #startOf(plan: ThreadPlan, acquired: Acquisition | undefined): string {
    const position = positionOf(plan, acquired)
    const { environment, workflow } = this.#execution
    if (!isAnySlot(plan, acquired)) return position
    const begun = new Set(this.#execution.live().map(({ state }) => state.starts_at))
    const barcode = barcodeOf(acquired)
    const stored = storedFor(plan, { environment, workflow, barcode })
    const [first] = barcode === null ? this.#withoutClaim(stored) : stored
    return first ?? plan.start.slots?.find((slot) => !begun.has(slot) && isFree(environment, slot)) ?? position
  }

  /** Returns the slots whose labware no group of an open run names by its barcode. */
  #withoutClaim(slots: readonly string[]): string[] {
    const { environment } = this.#execution
    const barcodeAt = new Map(slots.map((slot) => [slot, atRest(environment, slot)?.barcode ?? null]))
    const stored = new Set(barcodeAt.values())
    const runs = [this.#execution, ...this.#execution.beside()]
    const claimed = new Set(runs.flatMap((run) => [...holdersIn(run, (barcode) => stored.has(barcode))].map(({ barcode }) => barcode)))
    return slots.filter((slot) => !claimed.has(barcodeAt.get(slot) ?? ''))
  }

  /** Returns what the group says about the labware. Only the first thread of the plan gets a barcode, because it belongs to one labware. */
  #acquisition(plan: ThreadPlan, origin: ThreadOrigin): Acquisition | undefined {
    const submission = this.#execution.submissions.find((one) => one.submission_id === origin.submission_id)
    const acquired = submission?.request.groups.find((group) => group.group_id === origin.group_id)?.members[plan.name]
    if (!barcodeOf(acquired) || !this.hasHad(plan, origin)) return acquired
    return { location: positionOf(plan, acquired) }
  }

  /** Returns the labware that the thread reuses, if it stands there and no thread moves it. */
  #standingAt(position: string, { template, labware: name }: ThreadPlan, barcode: string | null): Labware | undefined {
    if (template.start.mode !== 'REUSE_EXISTING') return undefined
    const { environment, workflow } = this.#execution
    const there = atRest(environment, position)
    if (!there || there.type !== workflow.document.labware[name]?.type || whyNotThat(there, barcode)) return undefined
    // Another workflow may have a different name for it.
    return { ...there, template: name, state: 'IN_JOURNEY', last_run: this.#execution.execution_id }
  }

  #takeUp(thread: LabwareThread): void {
    const { thread_id, labware } = thread
    const { environment } = this.#execution
    environment.labware.set(labware.labware_id, labware)
    knowLid(thread)
    environment.scheduler.assign(labware.labware_id, thread_id)
  }

  /** Returns the lid that is on a plate at first: the one that is known there, or a new one. */
  #lidFor({ labware: template }: ThreadPlan, plate_id: string): NewThreadState['lid'] {
    const { workflow, environment, execution_id: last_run } = this.#execution
    const name = lidOf(workflow.document, template)
    if (name === undefined) return null
    const there = lidOn(environment, plate_id)
    const its = { template: name, on: plate_id, state: 'IN_JOURNEY', last_run } as const
    const labware = there ? { ...there, ...its } : { ...this.#newLabware(name, null), ...its }
    return { labware, is_on: true, seat: null }
  }

  #labwareFor({ labware: template }: ThreadPlan, barcode: string | null): Labware {
    return this.#newLabware(template, barcode)
  }

  #newLabware(template: string, barcode: string | null): Labware {
    const { workflow, environment, execution_id: last_run } = this.#execution
    const { type, kind, tips = null } = workflow.document.labware[template]!
    const name = this.#numbered(template, `labware ${template}`)
    const its = { labware_id: environment.newId(), name, template, type, kind, barcode, tips, tips_left: tips }
    return { ...its, state: 'AVAILABLE', held_by: null, last_run }
  }

  /** Returns a unique name: that of the template for the first thread, then `plate-2`, `plate-3`. */
  #numbered(name: string, counted = name): string {
    const { names } = this.#entry.state
    const known = names.find((one) => one.name === counted)
    if (!known) this.#entry.set({ names: [...names, { name: counted, count: 1 }] })
    else this.#entry.setIn('names', known, { count: known.count + 1 })
    return known ? `${name}-${known.count}` : name
  }
}

function inGroup({ name }: ThreadPlan, { submission_id, group_id }: ThreadOrigin): string {
  return `${submission_id} ${group_id} ${name}`
}

/** Returns the labware that stands at a position, if no thread moves it. */
function atRest({ labware, scheduler }: RunEnvironment, position: string): Labware | undefined {
  const there = labware.get(scheduler.position(position).labware_id ?? '')
  return there && scheduler.whose(there.labware_id) === null ? there : undefined
}

type Wanted = { environment: RunEnvironment; workflow: Workflow; barcode: string | null }

/** Returns the slots of a storage with labware that a thread may begin with. */
function storedFor({ start, labware }: ThreadPlan, { environment, workflow, barcode }: Wanted): string[] {
  const type = workflow.document.labware[labware]?.type
  const isSuch = (there: Labware | undefined) => there !== undefined && there.type === type && !whyNotThat(there, barcode)
  return (start.slots ?? []).filter((slot) => isSuch(atRest(environment, slot)))
}

function isFree({ scheduler }: RunEnvironment, slot: string): boolean {
  const { labware_id, reserved_for } = scheduler.position(slot)
  return labware_id === null && reserved_for === null
}

/** The labware of one type in the slots where a thread begins: how many, and the barcodes. */
export type Stock = { readonly count: number; readonly barcodes: ReadonlySet<string | null> }

/** Looks through the slots of a storage once, for all groups of a submission. */
export function stockFor(plan: ThreadPlan, environment: RunEnvironment, workflow: Workflow): Stock {
  const stored = storedFor(plan, { environment, workflow, barcode: null })
  return { count: stored.length, barcodes: new Set(stored.map((slot) => atRest(environment, slot)?.barcode ?? null)) }
}

/** Returns the position where a thread begins: from its submission, else from its plan. */
export function positionOf({ start }: ThreadPlan, acquired: Acquisition | undefined): string {
  if (!acquired) return start.position
  if ('pool' in acquired) return acquired.pool
  return 'location' in acquired ? acquired.location : start.position
}

/** Returns the lid that is on a plate, as far as is known. */
function lidOn({ labware }: Pick<RunEnvironment, 'labware'>, plate_id: string): Labware | undefined {
  for (const one of labware.values()) if (one.on === plate_id) return one
  return undefined
}

function whyNotThat({ barcode }: Labware, wanted: string | null): string | undefined {
  if (wanted === null || barcode === wanted) return undefined
  return barcode === null ? `whose barcode nobody has read (${wanted} is wanted)` : `whose barcode is ${barcode}, and ${wanted} is wanted`
}

/** `count` is how many threads of the submission have begun at the same place with such labware, with this one. */
type Beginning = { acquired: Acquisition | undefined; count: number; stock: Stock }

/** Throws `conflict` if a thread cannot begin where its submission or its plan says. In LIVE, labware that begins in a storage has to be in its inventory. */
export function startMustBeFree(
  environment: RunEnvironment,
  workflow: Workflow,
  plan: ThreadPlan,
  { acquired, count, stock }: Beginning,
): void {
  const barcode = barcodeOf(acquired)
  if (!isAnySlot(plan, acquired)) {
    mustBeFree(environment, positionOf(plan, acquired), workflow, plan, barcode)
    return
  }
  const { at } = plan.template.start
  if ((barcode === null ? stock.count >= count : stock.barcodes.has(barcode)) || environment.mode !== 'LIVE') return
  const type = workflow.document.labware[plan.labware]?.type
  const which =
    barcode === null ? `${stock.count} labware of the type ${type} for ${count} threads` : `no labware with the barcode ${barcode}`
  throw new LabError(
    'conflict',
    `${plan.name} is to begin in ${at}, which has ${which}; look at its inventory, and correct it where it is wrong`,
  )
}

/** Whether a thread begins in any slot of a storage. */
function isAnySlot({ start }: ThreadPlan, acquired: Acquisition | undefined): boolean {
  return start.slots !== undefined && (acquired === undefined || 'barcode' in acquired)
}

/** Throws `conflict` if something stands where a thread begins, except labware that the thread reuses and no thread moves. A storage is always free. */
export function mustBeFree(
  { scheduler, labware }: RunEnvironment,
  position: string,
  { document }: Workflow,
  { template, name, ...plan }: ThreadPlan,
  barcode: string | null = null,
): void {
  const { labware_id } = scheduler.position(position)
  if (labware_id === null || scheduler.graph.positions.get(position)?.storage) return
  const there = labware.get(labware_id)
  if (there?.held_by) {
    const remedy = `put it somewhere and say where (PUT /api/labware/${labware_id}/location)`
    throw new LabError('conflict', `${name} is to begin at ${position}: ${there.name} from there is held by ${there.held_by}; ${remedy}`)
  }
  const isAtRest = scheduler.whose(labware_id) === null
  const lid = isAtRest && there && lidOn({ labware }, labware_id)
  if (lid && lidOf(document, plan.labware) === undefined)
    throw new LabError(
      'conflict',
      `${name} is to begin at ${position}, where ${there.name} stands with ${lid.name} on, and the workflow knows no lid of ${plan.labware}; add {"kind": "lid", "on": "${plan.labware}"} to its labware, or take the lid off by hand, and ${offTheBench(lid.labware_id)}`,
    )
  const isOfType = template.start.mode === 'REUSE_EXISTING' && there?.type === document.labware[plan.labware]?.type
  const another = isOfType ? whyNotThat(there!, barcode) : undefined
  if (isAtRest && isOfType && !another) return
  const remedy = isAtRest ? `take it away, and ${offTheBench(labware_id)}` : 'wait until the run that moves it has moved it on'
  const since = there?.last_run === undefined ? '' : ` since run ${there.last_run.slice(0, 8)}`
  throw new LabError(
    'conflict',
    `${name} is to begin at ${position}, where ${there?.name ?? labware_id} stands${since}${another ? `, ${another}` : ''}; ${remedy}, or choose another start`,
  )
}

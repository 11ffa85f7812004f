// Runs the assay on one data folder, and kills the service again and again. The bench survives, and an operator looks at it after each restart.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { RuntimeEvent } from '../events/event.ts'
import { verifyLog } from '../events/log_verify.ts'
import { openEvents } from '../events/open.ts'
import { systemClock } from '../kit/clock.ts'
import type { Dice } from '../testing/simulation/scene.ts'
import { RecordFile } from '../workflow/records/record_file.ts'
import { Bench, type EndedThread, type Place, type Said } from './assay_kills.test.bench.ts'

/** The moment of a kill: the event is published and not yet on the disk; it is in the log; everything is on the disk, and the next work begins. */
const instants = ['told', 'stored', 'begun'] as const

type Options = {
  dice: Dice
  groups: number
  /** Whether the boundaries of moves count as well: the pick, the place, and the end. */
  moves?: boolean
  /** The service is killed at every n-th boundary; null for never. */
  every: number | null
  /** Whether every second operation in progress at a kill still completes; else none does. */
  goesOn?: boolean
}

/** The instructions for a service at its start. */
export type Orders = {
  data_dir: string
  groups: number
  moves: boolean
  /** The service does not stop at these boundaries, nor at the next `pass` ones. If `instant` is null it never stops. */
  passed: readonly string[]
  pass: number
  instant: (typeof instants)[number] | null
  /** The places that the operator sees on the bench. */
  places: Readonly<Record<string, Place>>
  done: readonly string[]
}

export type Outcome = {
  /** The result that must not depend on the kills. */
  end: Record<string, unknown>
  /** The begin and the end of each action. */
  boundaries: string[]
  kills: number
  /** The operations and moves that were in progress at the kills. */
  amid: { work: number; move: number; nothing: number }
  /** The number of actions that the operator declared done. */
  continued: number
  problems: string[]
}

/** Runs the assay with kills. The folder must exist and be empty. */
export async function chain(folder: string, options: Options): Promise<Outcome> {
  const chain = new Chain(folder, options)
  try {
    return await chain.toTheEnd()
  } finally {
    chain.letGo()
  }
}

class Chain {
  readonly #folder: string
  readonly #options: Options
  readonly #bench = new Bench()
  readonly #boundaries: string[] = []
  readonly #continued: string[] = []
  readonly #problems: string[] = []
  readonly #amid = { work: 0, move: 0, nothing: 0 }
  /** The action whose end was in the log when the service was killed. */
  #logged: string | undefined
  #kills = 0
  #child: ChildProcess | undefined
  #over: Extract<Said, { over: string }> | undefined

  constructor(folder: string, options: Options) {
    this.#folder = folder
    this.#options = options
  }

  async toTheEnd(): Promise<Outcome> {
    while (!this.#over) await this.#service()
    const end = await this.#end(this.#over)
    const problems = [...this.#problems, ...this.#bench.problems]
    const continued = this.#continued.length
    return { end, boundaries: this.#boundaries.sort(), kills: this.#kills, amid: this.#amid, continued, problems }
  }

  /** Kills the service, if it still runs. */
  letGo(): void {
    this.#child?.kill('SIGKILL')
  }

  /** Runs the service from a start to a kill, or to the end of the run. */
  async #service(): Promise<void> {
    const program = fileURLToPath(new URL('./assay_kills.test.child.js', import.meta.url))
    const orders = this.#orders()
    const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    const ended = once(child, 'exit')
    for await (const line of createInterface({ input: child.stdout })) {
      const said = JSON.parse(line) as Said
      if ('stops' in said) child.kill('SIGKILL')
      else this.#hear(said)
    }
    const [code, signal] = await ended
    if (this.#over) return
    if (signal !== 'SIGKILL') throw new Error(`the service ended by itself with ${code}: ${this.#problems.join('; ')}`)
    this.#logged = orders.instant === 'told' ? undefined : this.#boundaries.at(-1)
    const { dice, goesOn = false } = this.#options
    this.#amid[this.#bench.settle(() => goesOn && dice.oneIn(2))]++
    this.#kills++
  }

  #orders(): Orders {
    const { dice, groups, moves = false, every } = this.#options
    const pass = every === null ? 0 : this.#kills === 0 ? dice.below(every) : every - 1
    const instant = every === null ? null : dice.pick(instants)
    return { data_dir: this.#folder, groups, moves, passed: this.#boundaries, pass, instant, ...this.#bench.found() }
  }

  #hear(said: Exclude<Said, { stops: true }>): void {
    if ('fault' in said) this.#problem(said.fault)
    else if ('boundary' in said) this.#boundaries.push(said.boundary)
    else if ('continues' in said) this.#continue(said.continues)
    else if ('over' in said) this.#over = said
    else if ('stands' in said) this.#look(said)
    else this.#bench.hear(said)
  }

  #continue(action: string): void {
    if (`${action} COMPLETED` === this.#logged) this.#problem(`somebody is asked about ${action}, and the log knows that it is done`)
    this.#continued.push(action)
  }

  /** Checks that the service's explanation of each thread agrees with the bench. */
  #look({ stands, reason }: Extract<Said, { stands: object }>): void {
    if (reason !== 'system') this.#problem(`the run stands because of ${reason}`)
    for (const { thread, interrupted, why = 'nothing' } of stands) {
      if (interrupted === null || !this.#bench.hasBegun(interrupted.action_id)) continue
      if (!why.includes(`in the midst of ${interrupted.name}`)) this.#problem(`${thread} stands because of ${why}, and that had begun`)
    }
  }

  #problem(what: string): void {
    this.#problems.push(`after ${this.#kills} kills: ${what}`)
  }

  async #end({ over, slots, threads }: Extract<Said, { over: string }>): Promise<Outcome['end']> {
    // The record of the run stays; its state does not.
    const left = readdirSync(`${this.#folder}/executions`).filter((name) => name.endsWith('.jsonl'))
    if (left.length > 0) this.#problem(`the journal ${left} is left of a run that has ended`)
    const { damaged } = await verifyLog(`${this.#folder}/events`)
    for (const { file, offset, problem } of damaged) this.#problem(`${file} at byte ${offset}: ${problem}`)
    const names = new Map(threads.map(({ thread, thread_id }) => [thread_id, thread]))
    const events = await eventsIn(this.#folder, over)
    const continued = new Set(this.#continued)
    const told = events.filter(({ entity_type, status }) => entity_type === 'INCIDENT' && status !== 'CLOCK').length
    // A kill may come before the incident; then the operator decides once more.
    if (told < continued.size || told > this.#continued.length) this.#problem(`there are ${told} incidents of ${this.#continued}`)
    return {
      ...(await this.#recorded(over, names)),
      slots: slots.map((slot) => JSON.stringify(slot)).sort(),
      labware: threads.map((ended) => this.#labware(ended)).sort(),
      deeds: this.#bench.deeds(),
      actions: [...completedIn(events, names), ...continued].sort(),
      told: endsIn(events, names),
    }
  }

  #labware({ thread, labware_id, state, tips_left }: EndedThread): string {
    return `${thread}: ${state} at ${this.#bench.whereIs(labware_id)}, ${tips_left} tips`
  }

  async #recorded(execution_id: string, names: ReadonlyMap<string, string>) {
    const report = ({ message }: { message: string }) => this.#problem(message)
    const file = await RecordFile.open({ folder: this.#folder, clock: systemClock, report })
    await file.close()
    const { records } = file
    const { status, reason } = records.execution(execution_id)!
    const threads = records.threads(execution_id).filter(({ thread_id }) => names.has(thread_id))
    return {
      run: { status, reason },
      submissions: records.submissionsOf(execution_id).map(({ status, reason, group_ids }) => ({ status, reason, group_ids })),
      groups: records.groups(execution_id).map(({ group_id, open, ended }) => ({ group_id, open, ended })),
      threads: threads
        .map(({ thread_id, group_id, status, last_error }) => `${names.get(thread_id)} of ${group_id}: ${status} ${last_error}`)
        .sort(),
    }
  }
}

async function eventsIn(folder: string, execution_id: string): Promise<RuntimeEvent[]> {
  const quiet = { info() {}, warn() {}, error() {} }
  const events = { segment_mib: 8, commit_ms: 100, queue: 1000 }
  const hub = await openEvents({ folder, config: { system_id: 'system', events, limits: { subscribers: 1 } }, log: quiet })
  const all = await hub.getEventsForExecution(execution_id)
  await hub.close()
  return all
}

type Names = ReadonlyMap<string, string>
type About = { thread_id?: string; method_name?: string; action_name?: string }

/** Lists each action as often as its completion was published. */
function completedIn(events: readonly RuntimeEvent[], names: Names): string[] {
  return events.flatMap(({ entity_type, status, context }) => {
    const { thread_id = '', method_name, action_name } = context as About
    const isDone = entity_type === 'ACTION' && status === 'COMPLETED' && action_name
    return isDone ? [`${names.get(thread_id)}: ${method_name}/${action_name}`] : []
  })
}

/** Returns how everything else ended. Work that began in the turn of a kill was not on the disk: the restart publishes its end, and it begins again. */
function endsIn(events: readonly RuntimeEvent[], names: Names): string[] {
  const last = new Map<string, string>()
  for (const { entity_type, entity_id, status, context } of events) {
    const { thread_id, method_name = '' } = context as About
    const whose = thread_id === undefined ? '' : (names.get(thread_id) ?? 'somebody')
    if (!['ACTION', 'INCIDENT', 'TIP_RACK', 'SLOT'].includes(entity_type))
      last.set(`${entity_type} ${entity_id}`, `${entity_type} ${whose} ${method_name} ${status}`)
  }
  const begunAnew = /^(METHOD .* (PARTIAL_COMPLETE|SKIPPED)|THREAD somebody {2}ABORTED)$/
  return [...last.values()].filter((told) => !begunAnew.test(told)).sort()
}

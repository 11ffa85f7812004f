// The lines of a run that is followed: what happens to labware in words, or with every state of the engine.

import { operatorWords } from '../../clients/ts/event_words.ts'
import type { OperationNotDone, StillHeating } from '../../events/contexts.ts'
import type { RuntimeEvent } from '../../events/event.ts'
import { authorText } from '../../kit/author.ts'
import type { Reason } from '../../workflow/runs/explanation.ts'
import { atShell } from '../at_shell.ts'
import { ask, type Service } from '../client.ts'
import { CliError } from '../exit.ts'
import { stillHeating } from '../heating.ts'
import { localTime } from '../local_time.ts'
import { notDoneText } from './not_done.ts'

/** The level of detail: sentences for an operator, every state of the engine too, or the events as JSON. */
export type Level = 'operator' | 'all' | 'json'

export const levelOption = {
  all: { type: 'boolean', help: 'Print every state of the engine too, with milliseconds' },
} as const

/** A decision in the record of a run. */
type Decided = { at: number; text: string; by: string | null; operator?: string }

/** The events that a decision of a person begins or ends. */
const decidedOn = /^(THREAD\.(PAUSED|STOPPING|STOPPED|ABORTED)|ACTION\.SKIPPED|EXECUTION\.\w+)$/

export class RunLog {
  readonly #service: Service
  readonly #path: string
  readonly #level: Exclude<Level, 'json'>
  readonly #wordsOf = operatorWords()
  /** Decisions that are not printed yet, the oldest first. */
  #decided: Decided[] = []
  #printed = 0
  /** The waits that were printed and last on. */
  #waits: ReadonlySet<string> = new Set()
  #mayBeDecided = false
  #hasRecord = true

  constructor(service: Service, execution_id: string, level: Exclude<Level, 'json'>) {
    this.#service = service
    this.#path = `/api/executions/${execution_id}`
    this.#level = level
  }

  /** Fetches the decisions about the run if some may have been made until these events. Throws `unreachable`. */
  async expect(events: readonly RuntimeEvent[]): Promise<void> {
    const mayBe = events.some(({ entity_type, status }) => decidedOn.test(`${entity_type}.${status}`))
    if (events.length === 0 || !(mayBe || this.#mayBeDecided) || !this.#hasRecord) return
    this.#mayBeDecided = mayBe
    const { rows } = await ask<{ rows: Decided[] }>(this.#service, 'GET', `${this.#path}/record?kind=decision`).catch((error) => {
      // A run that is planned only has no record, and an earlier version of the service knows no decisions. A service that stops answers `failed`.
      if (!(error instanceof CliError) || error.exit === 'unreachable') throw error
      this.#hasRecord = error.exit === 'failed'
      return { rows: [] }
    })
    this.#decided = rows.slice(this.#printed)
  }

  /** Returns a line for each thread that waits, once for each wait. */
  waitingIn(threads: readonly Reason[]): string[] {
    if (this.#level === 'all') return []
    const waits = threads.flatMap(({ thread_name, waits_for, because: [why] }) =>
      waits_for === null ? [] : `${thread_name}: waits for ${waits_for}${why === undefined ? '' : ` (${why})`}`,
    )
    const lines = waits
      .filter((wait) => !this.#waits.has(wait))
      .map((wait) => `${timeOf(Date.now() / 1000, this.#level)}  ${atShell(wait)}`)
    this.#waits = new Set(waits)
    return lines
  }

  /** Returns the lines up to an event: decisions that were made before it, and its own. */
  linesOf(event: RuntimeEvent): string[] {
    const lines: string[] = []
    for (; this.#decided[0] && this.#decided[0].at <= event.timestamp; this.#printed++) {
      const { at, text, by, operator } = this.#decided.shift()!
      const author = authorText(by, operator)
      lines.push(`${timeOf(at, this.#level)}  decision: ${text}${author && ` (${author})`}`)
    }
    const words = this.#level === 'all' ? engineWords(event) : this.#wordsOf(event)
    // Scripts expect the end as the last line.
    lines.push(...notDoneIn(event).map((one) => `not done: ${notDoneText(one)}`))
    lines.push(...stillHeating(heatingIn(event)))
    return [...lines, ...words.map((sentence) => `${timeOf(event.timestamp, this.#level)}  ${atShell(sentence)}`)]
  }
}

function timeOf(timestamp: number, level: Level): string {
  return localTime(timestamp, level === 'all' ? 'milliseconds' : 'seconds').slice(11)
}

function notDoneIn({ entity_type, context }: RuntimeEvent): readonly OperationNotDone[] {
  if (entity_type !== 'EXECUTION') return []
  return (context as { not_done?: OperationNotDone[] }).not_done ?? []
}

function heatingIn({ entity_type, context }: RuntimeEvent): readonly StillHeating[] {
  if (entity_type !== 'EXECUTION') return []
  return (context as { still_heating?: StillHeating[] }).still_heating ?? []
}

type Shown = Readonly<Record<string, string | null | undefined>>

/** Returns the words of an event with the state of the engine; none for methods, submissions, and the workflow. */
function engineWords({ entity_type, status, context }: RuntimeEvent): string[] {
  const its = context as Shown
  const words = {
    THREAD: () => [its.thread_name, status, its.last_error],
    ACTION: () => [its.thread_name, its.action_name ?? 'move', status],
    CUSTOM: () => ['event', its.event_name, its.value],
    OPERATOR: () => ['operator', its.instruction, `confirm with: benchd runs confirm ${its.step_id}`],
    INCIDENT: () => ['incident', its.category, its.message],
    EXECUTION: () => ['execution', status, its.reason],
  }[entity_type]
  return words ? [words().filter(Boolean).join('  ')] : []
}

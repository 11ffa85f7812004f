// Prints what happens in a run until the run ends or needs a person.

import { setTimeout as sleep } from 'node:timers/promises'
import { etaWords } from '../../clients/ts/eta_words.ts'
import type { RuntimeEvent } from '../../events/event.ts'
import type { Blocker, Reason } from '../../workflow/runs/explanation.ts'
import type { ExecutionSummary } from '../../workflow/snapshot.ts'
import { atShell, short } from '../at_shell.ts'
import { ask, type Service } from '../client.ts'
import { CliError } from '../exit.ts'
import { print } from '../table.ts'
import { note } from '../terminal.ts'
import { type Level, RunLog } from './run_log.ts'
import { withoutDecisions } from './why.ts'

const page = 1000
/** Seconds after which the run is asked for its waits and blockers. */
const wait_s = 5
/** The pause between attempts to reach an absent service, and their number; a restart takes less than a minute. */
const again_ms = 1000
const mostAttempts = 60

/**
 * Returns the exit code: 0 if the execution is COMPLETED. Throws `standing` if all its threads wait and one of them, or the run, was
 * paused, failed or stalled, so that it cannot continue by itself. A run that waits for a manual step or an event is followed further, as is one
 * whose service restarts. Throws `unreachable` if the service stays away.
 */
export async function follow(service: Service, execution_id: string, level: Level): Promise<number> {
  const log = level === 'json' ? undefined : new RunLog(service, execution_id, level)
  const told: Told = { noted: new Set<string>(), log }
  let isHeld = false
  let looked = Date.now()
  let standing: CliError | undefined
  for (let since = 0; ; ) {
    // Prints the remaining events before the reason.
    const wait = standing ? 0 : wait_s
    const query = new URLSearchParams({ execution_id, since: String(since), limit: String(page), wait: String(wait) })
    const read = () => ask<{ events: RuntimeEvent[]; next_since: number }>(service, 'GET', `/events?${query}`)
    const { events, next_since } = await overRestarts(read, execution_id, since > 0)
    if (log) await overRestarts(() => log.expect(events), execution_id, true)
    for (const event of events) {
      for (const line of log ? log.linesOf(event) : [JSON.stringify(event)]) print(line)
      if (event.entity_type === 'EXECUTION') return event.status === 'COMPLETED' ? 0 : 1
      isHeld ||= event.entity_type === 'INCIDENT' || event.status === 'PAUSED'
    }
    if (standing && events.length === 0) throw standing
    standing = undefined
    if (isHeld || events.length === 0 || Date.now() - looked > wait_s * 1000) {
      looked = Date.now()
      ;({ isHeld, standing } = await overRestarts(() => look(service, execution_id, told), execution_id, true))
    }
    since = next_since
  }
}

/** Repeats an attempt while the service is away, if it has answered before. */
async function overRestarts<Answer>(attempt: () => Promise<Answer>, execution_id: string, hasAnswered: boolean): Promise<Answer> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      // A service that stops or starts answers 503, which becomes `failed`.
      if (!hasAnswered || !(error instanceof CliError) || !['unreachable', 'failed'].includes(error.exit)) throw error
      const later = `benchd runs follow ${short(execution_id)}`
      if (attempts === mostAttempts) throw new CliError(error.exit, `${error.message}; once it answers: ${later}`, { cause: error })
      if (attempts === 1) note('the service does not answer; trying again for a minute. Ctrl-C ends this command, and not the run')
      await sleep(again_ms)
    }
  }
}

/** The blockers that need a person. The other kinds belong to the workflow, or follow from these. */
const breaks: ReadonlySet<Blocker['kind']> = new Set(['safe_mode', 'error', 'stall', 'orphaned', 'paused'])

/** `noted` are the blockers that were printed. */
type Told = { noted: Set<string>; log: RunLog | undefined; eta?: number }
type Look = { isHeld: boolean; standing?: CliError | undefined }

/** Prints each wait and each blocker of the run once. Returns whether a part of the run is held, and the error if all its threads wait. */
async function look(service: Service, execution_id: string, told: Told): Promise<Look> {
  const { noted, log } = told
  const path = `/api/executions/${execution_id}`
  const { blockers } = await ask<{ blockers: Blocker[] }>(service, 'GET', `${path}/blockers`)
  const { threads } = await ask<{ threads: Reason[] }>(service, 'GET', `${path}/why`)
  const held = blockers.filter(({ kind }) => breaks.has(kind))
  const why = `benchd runs why ${short(execution_id)}`
  const [first] = held
  if (first && threads.length > 0 && threads.every(({ waits_for }) => waits_for !== null)) {
    // The threads explain a run that is paused with them.
    const cause = held.find(({ kind, thread_name }) => kind === first.kind && thread_name !== null) ?? first
    const after = `benchd runs follow ${short(execution_id)}`
    const words = `the run stands: ${worded(cause)}; what to do: ${why}; to follow it afterwards: ${after}`
    return { isHeld: true, standing: new CliError('standing', words) }
  }
  const others = blockers.filter(({ kind }) => kind !== 'waiting')
  const explained = new Set(others.map(({ thread_id }) => thread_id))
  if (log) for (const line of await endsIn(service, path, told)) print(line)
  for (const line of log?.waitingIn(threads.filter(({ thread_id }) => !explained.has(thread_id))) ?? []) print(line)
  for (const blocker of others) {
    const words = `${worded(blocker)}; what to do: ${why}`
    if (!noted.has(words)) note(words)
    noted.add(words)
  }
  return { isHeld: held.length > 0 }
}

/** The change of the end that is printed: so many seconds, and this share of what is left. */
const least_s = 60
const least_share = 0.05

/** Returns a line about the end of the run if it was not printed yet, or has changed. */
async function endsIn(service: Service, path: string, told: Told): Promise<string[]> {
  const run = await ask<Pick<ExecutionSummary, 'eta'>>(service, 'GET', path).catch(() => undefined)
  const eta = run?.eta
  const now = Date.now() / 1000
  if (typeof eta !== 'number' || eta <= now) return []
  const changed_s = Math.abs(eta - (told.eta ?? 0))
  if (changed_s < Math.max(least_s, (eta - now) * least_share)) return []
  told.eta = eta
  return [`the run ${etaWords({ eta }, now)}`]
}

function worded({ thread_name, message }: Blocker): string {
  const text = withoutDecisions(message)
  return atShell(thread_name === null ? text : `${thread_name}: ${text}`)
}

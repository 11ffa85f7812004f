// `benchd runs why`: the blockers of a run, the commands that help, and what each thread waits for.

import type { DeviceInfo } from '../../devices/records.ts'
import { clock } from '../../kit/seconds.ts'
import type { Blocker, Reason } from '../../workflow/runs/explanation.ts'
import type { ExecutionSnapshot, ShownThread } from '../../workflow/snapshot.ts'
import type { Decision } from '../../workflow/threads/recovery.ts'
import type { Whereabouts } from '../../workflow/whereabouts.ts'
import { atShell, short } from '../at_shell.ts'
import { ask, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { pathOf } from '../devices/perform.ts'
import { heatingAndRemedy } from '../heating.ts'
import { print } from '../table.ts'
import { shownPathOf } from './ids.ts'

export const runsWhy = command({
  name: 'runs why',
  summary: 'Explain why a run does not go on, and what to do about it',
  operands: ['ID'],
  options: serviceOptions,
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const path = await shownPathOf(service, id)
    const { blockers } = await ask<{ blockers: Blocker[] }>(service, 'GET', `${path}/blockers`)
    const { threads } = await ask<{ threads: Reason[] }>(service, 'GET', `${path}/why`)
    if (options.json) print(JSON.stringify({ blockers, threads }))
    else {
      const shown = await ask<{ threads: ShownThread[] }>(service, 'GET', `${path}/threads?limit=10000`)
      const execution_id = path.split('/').at(-1)!
      const run = short(execution_id)
      print(
        threads.length === 0 ? await endedIn(service, execution_id) : worded({ run, blockers, reasons: threads, threads: shown.threads }),
      )
    }
  },
})

/** Words an ended run, with labware that may be in a gripper and devices that still heat. */
async function endedIn(service: Service, execution_id: string): Promise<string> {
  const { labware } = await ask<{ labware: Whereabouts[] }>(service, 'GET', '/api/labware')
  const unsure = labware.filter(({ left_by, held_by }) => left_by === execution_id && held_by !== null)
  const sentences = unsure.map(({ name, place, remedy }) => atShell(`${name} is ${place}; ${remedy}`))
  return ['it has ended: nothing waits', ...sentences, ...(await heatingNow(service, execution_id))].join('\n')
}

/** Returns sentences about the devices that a run left on and that still heat now. */
async function heatingNow(service: Service, execution_id: string): Promise<string[]> {
  const { still_heating = [] } = await ask<Pick<ExecutionSnapshot, 'still_heating'>>(service, 'GET', `/api/executions/${execution_id}`)
  const devices = await Promise.all(still_heating.map(({ device_id }) => ask<DeviceInfo>(service, 'GET', pathOf(device_id))))
  return devices.flatMap(({ device_id, heating }) => (heating ? [`${device_id} is still ${heatingAndRemedy(device_id, heating)}`] : []))
}

type Standing = { run: string; blockers: readonly Blocker[]; reasons: readonly Reason[]; threads: readonly ShownThread[] }

function worded({ run, blockers, reasons, threads }: Standing): string {
  const shown = new Map(threads.map((thread) => [thread.thread_id, thread]))
  const inTheWay = blockers.map((blocker) => inTheWayOf(blocker, { run, ...(shown.get(blocker.thread_id ?? '') ?? undecided) }))
  return [...(inTheWay.length ? ['In the way:', ...inTheWay, ''] : []), ...reasons.map((reason) => waitOf(reason, blockers))].join('\n')
}

const undecided = { decisions: [], held_at: null, retry_on: [], retry_by: [], retry_by_if_off: [] }
type Decidable = {
  run: string
  decisions: readonly Decision[]
  held_at: string | null
  retry_on: readonly string[]
  retry_by: readonly string[]
  retry_by_if_off: readonly string[]
}

function inTheWayOf(blocker: Blocker, { run, decisions, held_at, retry_on, retry_by, retry_by_if_off }: Decidable): string {
  const { thread_id, thread_name, device_id, message, remedy, kind } = blocker
  const command = commands[kind]?.({ run, thread: short(thread_id ?? ''), device_id, hasThread: thread_id !== null })
  return [
    `${thread_name ? `${thread_name}: ` : ''}${withoutDecisions(atShell(message))}`,
    `  -> ${atShell(remedy)}`,
    ...(command ? [`     ${command}`] : []),
    ...(decisions.length ? [`     benchd runs recover ${short(thread_id!)} DECISION, which is one of`] : []),
    ...decisions.flatMap((decision) => [
      `       ${decision.padEnd(12)}  ${(held_at === 'IDENTITY' && meaningsOfScan[decision]) || meanings[decision]}`,
      ...(decision === 'CONTINUE' && held_at === 'IDENTITY'
        ? ['       CONTINUE --barcode TEXT  it is the labware, and has this barcode']
        : []),
      ...(decision === 'RETRY' ? retry_on.map((device) => `       RETRY --on ${device}  do it again, at ${device}`) : []),
      ...(decision === 'RETRY' ? retry_by.map((person) => `       RETRY --by ${person}  ${person} makes the move`) : []),
      ...(decision === 'RETRY'
        ? retry_by_if_off.map(
            (person) => `       RETRY --by ${person} --arm-is-off  ${person} makes the move, and the power of the arm is off`,
          )
        : []),
    ]),
  ].join('\n')
}

/** Words a wait, unless it is listed among the blockers. */
function waitOf({ thread_id, thread_name, status, waits_for, since_s, because }: Reason, blockers: readonly Blocker[]): string {
  const isListed = blockers.some((blocker) => blocker.thread_id === thread_id && blocker.message === waits_for)
  const time = since_s < 60 ? `${Math.round(since_s)} s` : clock(since_s)
  const what =
    waits_for === null
      ? 'is at work'
      : isListed
        ? `has stood for ${time}: see above`
        : `waits for ${withoutDecisions(atShell(waits_for))}, for ${time}`
  return [`${thread_name} (${status}) ${what}`, ...because.map((sentence) => `  ${sentence}`)].join('\n')
}

/** Removes the decisions from a sentence, because `runs why` lists those that are possible now, with their meanings. */
export function withoutDecisions(text: string): string {
  return text.replace(/; possible decisions: [A-Z_, ]+$/, '')
}

type About = { run: string; thread: string; device_id: string | null; hasThread: boolean }

/** The command to type, if the remedy does not name it. */
const commands: Partial<Record<Blocker['kind'], (about: About) => string>> = {
  device_fault: ({ device_id }) => `benchd devices init ${device_id}`,
  stall: ({ run }) => `benchd runs resume ${run}`,
  orphaned: ({ run }) => `benchd runs resume ${run}, or benchd runs stop ${run}`,
  operator_step: () => 'benchd runs steps, and benchd runs confirm STEP',
  manual_place: ({ thread }) => `benchd runs placed ${thread}`,
  manual_remove: ({ thread }) => `benchd runs removed ${thread}`,
  paused: ({ run, thread, hasThread }) => (hasThread ? `benchd runs resume-thread ${thread}` : `benchd runs resume ${run}`),
  event: ({ run }) => `benchd runs emit ${run} NAME`,
}

const meanings: Record<Decision, string> = {
  RETRY: 'do it again, all of it',
  RETRY_OP: 'make the call again that failed, and go on after it',
  CONTINUE: 'it is dealt with: go on after it',
  ABORT_ACTION: 'leave this action, and go on with the next',
  ABORT_METHOD: 'leave this method, and go on with the next',
  ABORT_THREAD: 'end the thread; its labware stays where it is',
}

/** The meanings of the decisions about labware that a scanner did not know. */
const meaningsOfScan: Partial<Record<Decision, string>> = {
  RETRY: 'scan it again',
  CONTINUE: 'it is the labware, whatever was read',
}

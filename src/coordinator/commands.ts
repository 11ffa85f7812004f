// `benchd lab serve`, and the commands that speak to the coordinator of a lab.

import { resolve } from 'node:path'
import { shows, tells } from '../cli/asking.ts'
import { atShell, short } from '../cli/at_shell.ts'
import { ask, patiently, type Service, serviceOf, serviceOptions } from '../cli/client.ts'
import { command, type OptionValues } from '../cli/command.ts'
import { CliError, type Exit, exitCodes } from '../cli/exit.ts'
import { portOf } from '../cli/numbers.ts'
import { systemFolder } from '../cli/places.ts'
import { gantt } from '../cli/runs/gantt.ts'
import { goOnUnread, signalled } from '../cli/serve.ts'
import { date, print, table } from '../cli/table.ts'
import { colored, note, noteNone, type OperationAnswer, say } from '../cli/terminal.ts'
import { exists } from '../kit/folder.ts'
import { log } from '../kit/log.ts'
import { clock } from '../kit/seconds.ts'
import { ServiceManager } from '../kit/service_manager.ts'
import type { ShownJourney, ShownTask } from './coordinator.ts'
import type { JourneyDryRun } from './dry_run.ts'
import type { CustodyRow } from './store.ts'

const usualFile = `${systemFolder}/lab/lab.jsonc`
const usualData = '/var/lib/benchd-lab'
const usualPort = 8530

/** The coordinator that the options or the environment name; else the one of this computer. */
function coordinatorOf(options: OptionValues<typeof serviceOptions>): Service {
  const url = options.url ?? (options['data-dir'] ? undefined : process.env.BENCHD_LAB_URL || undefined)
  if (url !== undefined) return serviceOf({ ...options, url, ...keyOf(options) })
  const folder = options['data-dir'] ?? process.env.BENCHD_LAB_DATA_DIR ?? usualData
  return { ...serviceOf({ ...options, 'data-dir': folder }), starts: 'benchd lab serve, benchd lab demo' }
}

function keyOf({ key }: OptionValues<typeof serviceOptions>): { key?: string } {
  const found = key ?? process.env.BENCHD_LAB_KEY
  return found === undefined ? {} : { key: found }
}

const labServe = command({
  name: 'lab serve',
  summary: `Run the coordinator of a lab from its lab file, default ${usualFile}`,
  operands: ['[FILE]'],
  options: {
    host: { type: 'string', value: 'H', help: 'Address to listen on; default 127.0.0.1' },
    port: { type: 'string', value: 'N', help: `Port to listen on; default ${usualPort}, 0 for any free port` },
    cert: { type: 'string', value: 'FILE', help: 'Certificate for TLS, PEM; with --tls-key' },
    'tls-key': { type: 'string', value: 'FILE', help: 'Key of the certificate, PEM' },
    'data-dir': { type: 'string', value: 'DIR', help: `Folder of the keys and the audit trail; default ${usualData}` },
  },
  no_json: 'without a terminal its log is lines of JSON',
  example: 'benchd lab serve floor-2.jsonc',
  async run({ options, operands: [named] }) {
    const ended = signalled()
    goOnUnread()
    const { startCoordinator } = await coordinatorCode()
    const { readLabFile } = await import('./lab_file.ts')
    const lab = await readLabFile(resolve(named ?? usualFile))
    const words = log(process.stdout)
    const starting = startCoordinator(lab, {
      data_dir: resolve(options['data-dir'] ?? process.env.STATE_DIRECTORY ?? process.env.BENCHD_LAB_DATA_DIR ?? usualData),
      host: options.host ?? '127.0.0.1',
      port: portOf(options.port ?? String(usualPort)),
      tls: tlsOf(options),
      log: words,
    })
    const service = await Promise.race([starting, ended])
    if (typeof service === 'string') {
      words.info(`${service}: ending before the start was done`)
      process.exit(service === 'SIGINT' ? exitCodes.interrupted[0] : exitCodes.ok[0])
    }
    words.info(`the coordinator of ${lab.name} listens on ${service.url}`)
    if (service.fingerprint) words.info(`the certificate has the SHA-256 fingerprint ${service.fingerprint}`)
    const manager = new ServiceManager()
    manager.ready()
    const end = await Promise.race([ended.then((signal) => ({ signal })), service.lost.then((sentence) => ({ sentence }))])
    manager.stopping()
    if ('sentence' in end) {
      words.error(`${end.sentence}; the coordinator ends, and journeys go on where they are when it is started again`)
      process.exit(exitCodes.failed[0])
    }
    words.info(`${end.signal}: ending`)
    await service.close()
    manager.close()
    // Steps that wait for a bench would keep the process alive; the next start repeats them.
    process.exit(end.signal === 'SIGINT' ? exitCodes.interrupted[0] : exitCodes.ok[0])
  },
})

/** Loads the coordinator with DBOS, which only the package benchd-lab has. */
async function coordinatorCode(): Promise<typeof import('./start.ts')> {
  try {
    return await import('./start.ts')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CliError(
      'failed',
      'the coordinator of a lab comes with the package benchd-lab, which is not installed here: sudo apt install ./benchd-lab_….deb',
      { cause: error },
    )
  }
}

function tlsOf({ cert, 'tls-key': key }: { cert?: string; 'tls-key'?: string }): { cert: string; key: string } | undefined {
  if ((cert === undefined) !== (key === undefined)) throw new CliError('usage', '--cert and --tls-key go together')
  return cert === undefined || key === undefined ? undefined : { cert: resolve(cert), key: resolve(key) }
}

const labCheck = command({
  name: 'lab check',
  summary: 'Check a lab file against its benches, and print each mistake with its place in the file',
  operands: ['[FILE]'],
  async run({ options, operands: [named] }) {
    const { checkLab } = await import('./check.ts')
    const { lab, journeys, away, others, unread } = await checkLab(resolve(named ?? usualFile))
    for (const sentence of [...away, ...others, ...unread]) note(sentence)
    const missing = away.length ? `; benches that did not answer: ${away.length}` : ''
    const other = unread.length ? `; benches that answer as another version does: ${unread.length}` : ''
    const message = `${lab} is right: ${journeys} journeys${missing}${other}`
    return say({ success: away.length + unread.length === 0, message }, options.json)
  },
})

const labJourneys = shows({
  whom: coordinatorOf,
  name: 'lab journeys',
  summary: 'List the journeys of the lab, the newest first',
  path: () => '/api/lab/journeys',
  text({ journeys }: { journeys: ShownJourney[] }) {
    noteNone(journeys, 'there is no journey yet; begin one with: benchd lab start JOURNEY LABWARE')
    return journeys.length ? table(['JOURNEY', 'NAME', 'LABWARE', 'STATUS', 'LEG', 'WHAT'], journeys.map(journeyRow)) : ''
  },
})

const labJourney = shows({
  whom: coordinatorOf,
  name: 'lab journey',
  summary: 'Show a journey and its history, named by the beginning of its id or by its labware',
  operands: ['JOURNEY'],
  path: ({ operands: [name = ''] }) => `/api/lab/journeys/${encodeURIComponent(name)}`,
  text: (journey: ShownJourney) => {
    const chart = journey.bars.length
      ? [chartOf(journey.bars.map(({ lane, what, from, to }) => ({ lane, name: what, from_s: from, to_s: to })))]
      : []
    return [table(['JOURNEY', 'NAME', 'LABWARE', 'STATUS', 'LEG', 'WHAT'], [journeyRow(journey)]), ...chart].join('\n\n')
  },
})

const labWhy = shows({
  whom: coordinatorOf,
  name: 'lab why',
  summary: 'Explain what a journey waits for, and what to do about it',
  operands: ['JOURNEY'],
  path: ({ operands: [name = ''] }) => `/api/lab/journeys/${encodeURIComponent(name)}/why`,
  text: ({ because }: { because: string[] }) => because.map(atShell).join('\n'),
})

const labTasks = shows({
  whom: coordinatorOf,
  name: 'lab tasks',
  summary: 'List the open tasks of people and carriers',
  path: () => '/api/lab/tasks',
  text({ tasks }: { tasks: ShownTask[] }) {
    noteNone(tasks, 'nobody has anything to carry')
    return tasks.length
      ? table(
          ['TASK', 'LABWARE', 'WHAT', 'SINCE'],
          tasks.map((task) => [shortTask(task), task.labware, task.what, date(task.since)]),
        )
      : ''
  },
})

const labCustody = shows({
  whom: coordinatorOf,
  name: 'lab custody',
  summary: 'Show the holder of each labware, or with LABWARE all holders of that labware',
  operands: ['[LABWARE]'],
  path: ({ operands: [labware] }) => `/api/lab/custody${labware === undefined ? '' : `/${encodeURIComponent(labware)}`}`,
  text({ custody }: { custody: CustodyRow[] }) {
    noteNone(custody, 'no journey has had any labware yet')
    return custody.length
      ? table(
          ['LABWARE', 'HOLDER', 'SINCE'],
          custody.map(({ labware, holder, at }) => [labware, holderWords(holder), date(at)]),
        )
      : ''
  },
})

const labStart = command({
  name: 'lab start',
  summary: 'Start a journey of the lab file with the labware of this barcode',
  operands: ['JOURNEY', 'LABWARE'],
  options: { id: { type: 'string', value: 'UUID', help: 'Id of your own; a repeated id starts one journey' }, ...serviceOptions },
  example: 'benchd lab start assay P-0042',
  async run({ options, operands: [journey, labware] }) {
    const body = { journey, labware, ...(options.id !== undefined && { journey_id: options.id }) }
    const answer = await ask<ShownJourney>(coordinatorOf(options), 'POST', '/api/lab/journeys', body)
    print(options.json ? JSON.stringify(answer) : `journey ${short(answer.journey_id)}: ${answer.waiting ?? answer.status}`)
  },
})

const labDecide = command({
  name: 'lab decide',
  summary: 'Decide about a journey that cannot go on by itself: retry, done (with --at), back, lost or end, as lab why lists them',
  operands: ['JOURNEY', 'DECISION'],
  options: {
    at: { type: 'string', value: 'POSITION', help: 'Position of the labware on the bench, for done' },
    ...serviceOptions,
  },
  async run({ options, operands: [journey = '', decision] }) {
    const body = { decision, ...(options.at !== undefined && { position: options.at }) }
    const path = `/api/lab/journeys/${encodeURIComponent(journey)}/decide`
    const answer = await ask<ShownJourney>(coordinatorOf(options), 'POST', path, body)
    print(options.json ? JSON.stringify(answer) : `journey ${short(answer.journey_id)} takes the decision: ${decision}`)
  },
})

const labConfirm = tells({
  whom: coordinatorOf,
  name: 'lab confirm',
  summary: 'Confirm that a task is done; for placed labware, give the barcode that was read',
  operands: ['TASK', '[BARCODE]'],
  tell: ({ operands: [task = '', barcode] }) => ({
    path: `/api/lab/tasks/${encodeURIComponent(task)}/confirm`,
    body: barcode === undefined ? {} : { barcode },
  }),
})

/** Exits after which a stop is sent to the benches directly: the coordinator is away, or refuses this user. */
const mayBeAway: readonly Exit[] = ['unreachable', 'not_allowed']

const labStop = command({
  name: 'lab stop',
  summary:
    'Stop the devices of all benches of a lab, from this computer and the lab file when the coordinator is away. ' +
    `Not a safety function: look at each bench that does not answer. FILE is by default ${usualFile}`,
  operands: ['[FILE]'],
  stops: true,
  options: serviceOptions,
  async run({ options, operands: [named] }) {
    const coordinator = coordinatorOf(options)
    const file = resolve(named ?? usualFile)
    try {
      return say(await ask<OperationAnswer>({ ...coordinator, wait_s: coordinator.wait_s ?? 5 }, 'POST', '/api/lab/stop'), options.json)
    } catch (error) {
      if (!(error instanceof CliError) || !mayBeAway.includes(error.exit)) throw error
      if (named === undefined && !exists(file))
        throw new CliError(error.exit, `${error.message}; to ask the benches from here, name the lab file: benchd lab stop FILE`, {
          cause: error,
        })
      note(`${error.message}; the benches are asked from here`)
    }
    const { stopLab } = await import('./check.ts')
    const stopped = await stopLab(file)
    if (!stopped.success) throw new CliError('failed', stopped.message)
    return say(stopped, options.json)
  },
})

const labSimulate = command({
  name: 'lab simulate',
  summary: 'Simulate a journey without devices and draw the timeline of its benches and carriers',
  operands: ['JOURNEY'],
  options: serviceOptions,
  async run({ options, operands: [journey] }) {
    const run = await ask<JourneyDryRun>(patiently(coordinatorOf(options)), 'POST', '/api/lab/simulations', { journey })
    const completes = run.legs.every(({ verdict }) => verdict === 'completes')
    const legs = run.legs.map(({ bench, workflow, verdict, conflict, makespan_s }) => [
      bench,
      workflow,
      verdict,
      clock(makespan_s),
      conflict ?? '',
    ])
    const words = [
      `${run.journey}  ${clock(run.makespan_s)}`,
      chartOf(run.gantt),
      table(['BENCH', 'WORKFLOW', 'VERDICT', 'TAKES', 'CONFLICT'], legs),
    ]
    print(options.json ? JSON.stringify(run) : words.join('\n\n'))
    return completes ? 0 : 1
  },
})

type LaneBar = { lane: string; name: string; from_s: number; to_s: number }

/** A row for each bench, device of a bench and carrier. */
function chartOf(bars: readonly LaneBar[]): string {
  const from = Math.min(...bars.map(({ from_s }) => from_s))
  const shown = bars.map(({ lane, name, from_s, to_s }) => ({
    thread_name: lane,
    kind: 'action' as const,
    name,
    device: name,
    from_s: from_s - from,
    to_s: to_s - from,
  }))
  const run = { gantt: shown, makespan_s: Math.max(...shown.map(({ to_s }) => to_s)) }
  return gantt(run, { columns: process.stdout.columns ?? 100, color: colored('red', '') !== '' })
}

function journeyRow({ journey_id, name, labware, status, leg, legs, waiting, needs_person, outcome }: ShownJourney): string[] {
  const what = waiting ?? outcome ?? ''
  return [short(journey_id), name, labware, status, `${leg} of ${legs.length}`, needs_person ? colored('yellow', what) : what]
}

/** The id of a task with that of its journey cut short, as `lab confirm` takes it. */
function shortTask({ task_id, journey_id }: ShownTask): string {
  return `${short(journey_id)}${task_id.slice(journey_id.length)}`
}

function holderWords(holder: CustodyRow['holder']): string {
  if ('bench' in holder) return `${holder.bench}/${holder.position}`
  return 'carrier' in holder ? holder.carrier : holder.nobody
}

export const commands = [
  labServe,
  labCheck,
  labStart,
  labJourneys,
  labJourney,
  labWhy,
  labDecide,
  labSimulate,
  labTasks,
  labConfirm,
  labCustody,
  labStop,
]

// `benchd status`: the state of the service and the bench on one screen.

import { clock } from '../kit/seconds.ts'
import { atShell, short } from './at_shell.ts'
import { type Bench, benchOf, type Health, type Host, healthOf } from './bench.ts'
import { serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { deviceTable } from './devices/shown.ts'
import { modeText } from './run_modes.ts'
import { endOf, stateOf } from './runs/shown.ts'
import { date, print, table } from './table.ts'
import { colored } from './terminal.ts'

const mostShown = 10

const status = command({
  name: 'status',
  summary:
    'Show the service, its devices, open runs, needed decisions, disk and clock on one screen; exit with 1 unless the service is healthy',
  options: serviceOptions,
  async run({ options }) {
    const service = serviceOf(options)
    const { health } = await healthOf(service)
    const serves = health.status === 'ok' || health.status === 'degraded'
    if (!serves) print(options.json ? JSON.stringify({ health }) : serviceLine(health))
    else {
      const bench = await benchOf(service)
      print(options.json ? JSON.stringify(bench) : described(bench))
    }
    return serves ? 0 : 1
  },
})

export const commands = [status]

const healthColors = { ok: 'green', degraded: 'yellow', starting: 'yellow', stopping: 'yellow' } as const

export function serviceLine({ status, version, uptime_s, reasons }: Health): string {
  const why = reasons.length ? ` (${reasons.join(', ')})` : ''
  return `benchd ${version}  ${colored(healthColors[status], status)}${why}  up ${clock(uptime_s)}`
}

function described({
  health,
  system_id,
  tls_fingerprint,
  devices,
  readings,
  runs,
  steps,
  waiting,
  incidents,
  host,
  queue,
  cameras,
  confirmations,
}: Bench): string {
  const runRows = runs.map(({ execution_id, workflow_name, run_mode, started_at, ...its }) => [
    short(execution_id),
    workflow_name,
    modeText(run_mode),
    stateOf({ ...its }),
    date(started_at),
    endOf({ ...its }),
  ])
  const stepRows = steps.map(({ step_id, since, instruction }) => [step_id, date(since), instruction])
  const waitingRows = waiting.map(({ execution_id, thread_name, status, since, last_error }) => [
    short(execution_id),
    thread_name,
    status,
    date(since),
    atShell(last_error ?? ''),
  ])
  const incidentRows = incidents.map(({ incident_id, timestamp, category, message }) => [
    short(incident_id),
    date(timestamp),
    category,
    atShell(message),
  ])
  return [
    [`${serviceLine(health)}  ${system_id}`, ...hostLines(host), ...(tls_fingerprint ? [`certificate ${tls_fingerprint}`] : [])].join('\n'),
    ...cameras.flatMap(({ name, failure }) => (failure === null ? [] : [colored('yellow', `the camera ${name} ${failure}`)])),
    devices.length ? deviceTable('ID', devices, readings) : 'no devices',
    ...(runRows.length ? [some(['RUN', 'WORKFLOW', 'MODE', 'STATE', 'STARTED', 'ENDS'], runRows)] : ['no open runs']),
    ...(queue && (queue.waiting > 0 || queue.is_paused) ? [queueLine(queue)] : []),
    ...(waitingRows.length ? [`${some(['RUN', 'WAITING', 'STATUS', 'SINCE', 'WHY'], waitingRows)}\nwhat to do: benchd runs why RUN`] : []),
    ...(confirmations.length
      ? [`${some(['CODE', 'ASKED BY', 'REQUEST'], confirmations.map(codeRow))}\ntell the program the code only if you want exactly this`]
      : []),
    ...(stepRows.length ? [`${some(['STEP', 'SINCE', 'WHAT TO DO'], stepRows)}\nwhen done: benchd runs confirm STEP`] : []),
    ...(incidentRows.length
      ? [`${some(['INCIDENT', 'WHEN', 'CATEGORY', 'WHAT'], incidentRows)}\nseen: benchd incidents ack INCIDENT`]
      : []),
  ].join('\n\n')
}

function codeRow({ code, client, name, text }: Bench['confirmations'][number]): string[] {
  return [code ?? 'shown to other keys', `${client ?? 'a program'} (key ${name})`, text]
}

function queueLine({ waiting, is_paused }: NonNullable<Bench['queue']>): string {
  const what = `queue: ${waiting} waiting`
  return is_paused ? `${colored('yellow', `${what}, paused`)}\nwhy: benchd queue list; to resume it: benchd queue resume` : what
}

function some(head: readonly string[], rows: readonly string[][]): string {
  const more = rows.length - mostShown
  return table(head, rows.slice(0, mostShown)) + (more > 0 ? `\n… and ${more} more` : '')
}

/** The difference of two clocks in seconds from which it is reported. */
const astray_s = 5

function hostLines(host: Host): string[] {
  const {
    disk_free_bytes: free,
    disk_bytes: total,
    clock_synced,
    clock_ahead_s: ahead,
    under_voltage,
    cpu_temperature_celsius: heat,
  } = host
  const astray =
    ahead !== null && Math.abs(ahead) >= astray_s ? `${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the clock here` : ''
  const words = [
    free !== null && total ? `disk ${gigabytes(free)} free of ${gigabytes(total)}` : '',
    clock_synced === null && !astray
      ? ''
      : ['clock', clock_synced === null ? '' : clock_synced ? 'synchronized' : 'not synchronized', astray].filter(Boolean).join(' '),
    heat === null ? '' : `processor ${heat.toFixed(0)} °C`,
    under_voltage ? colored('red', 'voltage too low') : '',
  ].filter(Boolean)
  return words.length ? [words.join('  ')] : []
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`
}

// The metrics of the service in the text format of Prometheus, version 0.0.4.

import { type Health, healthReasons } from '../bench/bench.ts'
import type { LatePlugins } from '../bench/late_plugins.ts'
import type { Links } from '../bench/links.ts'
import type { ForetoldLive } from '../bench/runs.ts'
import type { HostFacts } from '../care/host.ts'
import type { Ledger } from '../devices/ledger.ts'
import type { Readings } from '../devices/readings.ts'
import type { Registry } from '../devices/registry.ts'
import type { Hub } from '../events/hub.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Refusals } from '../kit/refusals.ts'
import type { Queue } from '../queue/queue.ts'
import { type Route, routesOf } from './contract.ts'
import { deviceMetrics, type Metric } from './device_metrics.ts'
import { apiVersion } from './version.ts'

type Rooms = {
  version: string
  hub: Hub
  registry: Registry
  ledger: Ledger
  readings: Readings
  refusals: Refusals
  host: HostFacts | undefined
  fleet: Fleet | undefined
  queue: Queue | undefined
  foretold: readonly ForetoldLive[]
  plugins: LatePlugins
  links: Links
  health(): Health
}

const route = routesOf<Rooms>('system')

/** The bytes of a block in getrusage(2). */
const block = 512

export const metricRoutes: Route<Rooms>[] = [
  route('GET', '/metrics', {
    operation_id: 'getMetrics',
    summary: 'Figures of the service, in the text format of Prometheus',
    scope: 'read',
    success: { description: 'A line a figure', media_type: 'text/plain' },
    async handle({ rooms }) {
      const text = (await metricsOf(rooms)).map(written).join('')
      return new Response(text, { headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8', 'X-API-Version': apiVersion } })
    },
  }),
]

async function metricsOf(rooms: Rooms): Promise<Metric[]> {
  const { log, streams, counts } = rooms.hub
  const health = rooms.health()
  const lag_s = await lag()
  const { free, total } = await log.room().catch(() => ({ free: Number.NaN, total: Number.NaN }))
  return [
    {
      name: 'benchd_build_info',
      type: 'gauge',
      help: 'Always 1; what runs is in the labels',
      values: [{ labels: { version: rooms.version, api_version: apiVersion }, value: 1 }],
    },
    one('benchd_uptime_seconds', 'gauge', 'Since the service began', health.uptime_s),
    {
      name: 'benchd_health',
      type: 'gauge',
      help: 'Whether this reason of /health is there; all 0 is well',
      values: [...new Set([...healthReasons, ...health.reasons])].map((reason) => ({
        labels: { reason },
        value: Number(health.reasons.includes(reason)),
      })),
    },
    one('benchd_event_loop_lag_seconds', 'gauge', 'How long a turn of the event loop was waited for at this look', lag_s),
    {
      name: 'benchd_device_operations_total',
      type: 'counter',
      help: 'Operations that have ended since the service began',
      values: rooms.ledger.counts.map(({ times, ...labels }) => ({ labels, value: times })),
    },
    {
      name: 'benchd_events_total',
      type: 'counter',
      help: 'Events since the service began',
      values: [...counts].map(([type, { events }]) => ({ labels: { type }, value: events })),
    },
    one('benchd_event_log_bytes', 'gauge', 'Events on the card', log.bytes),
    one('benchd_event_log_waiting', 'gauge', 'Events that wait to be written', log.waiting),
    one('benchd_event_log_lost_total', 'counter', 'Events that the card never took', log.lost),
    one('benchd_disk_free_bytes', 'gauge', 'Room on the file system of the data folder', free),
    one('benchd_disk_bytes', 'gauge', 'Size of the file system of the data folder', total),
    one(
      'benchd_disk_written_bytes_total',
      'counter',
      'Given to the disks to write since the service began, in whole pages',
      process.resourceUsage().fsWrite * block,
    ),
    one('benchd_sse_clients', 'gauge', 'Streams that are open', streams.subscribers),
    one('benchd_sse_dropped_total', 'counter', 'Events that streams lost because they were too slow', streams.dropped),
    {
      name: 'benchd_refused_total',
      type: 'counter',
      help: 'What a bound of the service refused or closed since the service began; systemd/README.md says what each bound is',
      values: rooms.refusals.counts.map(({ bound, times }) => ({ labels: { bound }, value: times })),
    },
    one('benchd_resident_memory_bytes', 'gauge', 'Memory of the process', process.memoryUsage.rss()),
    ...queueMetrics(rooms),
    ...runMetrics(rooms),
    ...fleetMetrics(rooms),
    ...(await pluginMetrics(rooms)),
    ...mqttMetrics(rooms),
    ...hostMetrics(rooms),
    ...deviceMetrics(rooms),
  ]
}

/** Returns a metric without labels; an unknown one has no value. */
function one(name: string, type: Metric['type'], help: string, value: number | boolean | null | undefined): Metric {
  return { name, type, help, values: value === null || value === undefined ? [] : [{ value: Number(value) }] }
}

/** Measures the lag of the event loop now, because a permanent timer would keep a small computer awake. */
async function lag(): Promise<number> {
  const began = performance.now()
  await new Promise((resolve) => setImmediate(resolve))
  return (performance.now() - began) / 1000
}

/** Returns the metrics of the queue; without one they have no values. */
function queueMetrics({ queue }: Rooms): Metric[] {
  return [
    one('benchd_queue_waiting_entries', 'gauge', 'Entries of the queue that have not begun', queue?.view.waiting),
    one('benchd_queue_paused', 'gauge', 'Whether the queue waits until somebody resumes it', queue && queue.view.state === 'paused'),
  ]
}

/** Returns the metrics of the open LIVE runs. */
function runMetrics({ foretold }: Rooms): Metric[] {
  const now = Date.now() / 1000
  const labels = ({ execution_id, workflow_name: workflow }: ForetoldLive) => ({ execution_id, workflow })
  return [
    {
      name: 'benchd_run_seconds_left',
      type: 'gauge',
      help: 'Until the foretold end of an open LIVE run, which may be past; absent where no end can be foretold',
      values: foretold.flatMap((run) => (run.eta === null ? [] : { labels: labels(run), value: run.eta - now })),
    },
    {
      name: 'benchd_run_progress_ratio',
      type: 'gauge',
      help: 'The share of the expected time of an open LIVE run that has passed',
      values: foretold.map((run) => ({ labels: labels(run), value: run.progress })),
    },
  ]
}

/** Returns the metrics of the broker; without one they have no values. */
function fleetMetrics({ fleet }: Rooms): Metric[] {
  const status = fleet?.status()
  return [
    one(
      'benchd_fleet_connected',
      'gauge',
      'Whether the broker of the lab takes events of this bench',
      status && status.state === 'connected',
    ),
    one('benchd_fleet_waiting_events', 'gauge', 'Events that the broker has not acknowledged', status?.waiting),
    one('benchd_fleet_lag_seconds', 'gauge', 'How long the oldest of them has been waiting', status?.lag_s),
    one('benchd_fleet_sent_total', 'counter', 'Events that the broker has acknowledged since the service began', status?.sent),
    one('benchd_fleet_lost_total', 'counter', 'Events that were removed or lost here before they could be sent', status?.lost),
  ]
}

/** Returns the metrics of plug-ins, with a value for each of them. */
async function pluginMetrics({ plugins }: Rooms): Promise<Metric[]> {
  const all = await plugins.list()
  const each = (name: string, type: Metric['type'], help: string, of: (status: (typeof all)[number]) => number): Metric => {
    return { name, type, help, values: all.map((status) => ({ labels: { plugin: status.name }, value: of(status) })) }
  }
  return [
    each('benchd_plugin_running', 'gauge', 'Whether the plug-in runs', ({ state }) => Number(state === 'running')),
    each('benchd_plugin_events_total', 'counter', 'Events that the plug-in has handled', ({ events_handled }) => events_handled),
    each('benchd_plugin_dropped_total', 'counter', 'Events that the plug-in lost', ({ events_dropped }) => events_dropped),
    each('benchd_plugin_restarts_total', 'counter', 'Starts of the plug-in after the first', ({ restarts }) => restarts),
  ]
}

/** Returns the metrics of the MQTT broker; without one they have no values. */
function mqttMetrics({ links }: Rooms): Metric[] {
  const status = links.mqtt?.status()
  return [
    one('benchd_mqtt_connected', 'gauge', 'Whether the MQTT broker takes messages of this bench', status?.is_connected),
    one('benchd_mqtt_sent_total', 'counter', 'Messages that were sent to the MQTT broker since the service began', status?.sent),
    one(
      'benchd_mqtt_dropped_total',
      'counter',
      'Events and answers that were dropped, because the MQTT broker was away or slow',
      status?.dropped,
    ),
  ]
}

function hostMetrics({ host }: Rooms): Metric[] {
  return [
    one('benchd_clock_synced', 'gauge', 'Whether the clock was set by a time server', host?.clock_synced),
    one('benchd_under_voltage', 'gauge', 'Whether the voltage of the board was too low in the last two seconds', host?.under_voltage),
    one('benchd_cpu_temperature_celsius', 'gauge', 'Of the processor', host?.temperature?.celsius),
  ]
}

function written({ name, help, type, values }: Metric): string {
  const lines = values.map(({ labels, value }) => `${name}${labels ? `{${pairs(labels)}}` : ''} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** Formats labels. Ids and states need no escaping. */
function pairs(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .join(',')
}

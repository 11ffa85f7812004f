// Measures the cost of further devices to an idle service: CPU time when idle, memory, and CPU time at its start. A third of the devices is on the network, half of them
// behind serial boxes; the others are on serial ports.

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isOnPins } from '../../drivers/driver.ts'
import { type DriverName, drivers } from '../../drivers/index.ts'
import { serveOnPty, serveOnTcp } from '../../drivers/serve.ts'
import { bench, median, type Row, row } from './bench.ts'
import { ownFolder } from './child.ts'
import { addressOf, killed, memoryOf } from './process.ts'

const onTcp: readonly DriverName[] = ['microspin', 'bioshake']
const onPorts: readonly DriverName[] = ['ika_shaker', 'ohaus_endeavor', 'xpeel', 'plateloc']

export const devices = bench({
  name: 'devices',
  summary: 'what further devices cost an idle service, a third of them over TCP',
  limit: 'with a third of the devices',
  options: { devices: 30, rounds: 5, seconds: 20 },
  async run({ devices, rounds, seconds }) {
    const folder = ownFolder()
    const instruments = await Promise.all(Array.from({ length: devices }, (_, nth) => instrumentOf(nth, folder)))
    const few = Math.round(devices / 3)
    const measured = { few: [] as Spent[], all: [] as Spent[] }
    let starts = 0
    try {
      for (const count of [few, devices]) await spentWith(instruments.slice(0, count), { folder, name: `warm-${count}`, seconds: 0 })
      for (let round = 0; round < rounds; round++)
        for (const [which, count] of [
          ['few', few],
          ['all', devices],
        ] as const)
          measured[which].push(await spentWith(instruments.slice(0, count), { folder, name: String(++starts), seconds }))
    } finally {
      for (const one of instruments) await one.close()
    }
    return rowsOf(measured, devices - few)
  },
})

type Instrument = { config: object; heard: boolean; close(): Promise<unknown> }

/** Serves the simulator of a device, and describes the device. */
async function instrumentOf(nth: number, folder: string): Promise<Instrument> {
  const names = nth % 3 === 0 ? onTcp : onPorts
  const name = names[Math.floor(nth / 3) % names.length]!
  const driver = await drivers[name]()
  if (isOnPins(driver)) throw new Error(`${name} is on pins`)
  const instrument: Instrument = { config: {}, heard: false, close: async () => undefined }
  const about = { device_id: `device-${nth}`, driver: name }
  const served =
    names === onTcp ? await serveOnTcp(driver, {}, { port: 0 }) : await serveOnPty(driver, {}, { link: join(folder, `port-${nth}`) })
  const { simulator } = served
  const receive = simulator.receive.bind(simulator)
  simulator.receive = (bytes, connection) => {
    instrument.heard = true
    receive(bytes, connection)
  }
  const transport = 'port' in served ? { kind: 'tcp', host: '127.0.0.1', port: served.port } : { kind: 'serial', path: served.path }
  return Object.assign(instrument, { config: { ...about, transport }, close: () => served.close() })
}

type Spent = { start_ms: number; idle_ms: number; rss_mib: number }
type Run = { folder: string; name: string; seconds: number }

/** Starts a service with these devices, and measures it until every instrument was asked, and for some idle seconds. */
async function spentWith(instruments: readonly Instrument[], { folder, name, seconds }: Run): Promise<Spent> {
  const config = join(folder, `${name}.json`)
  writeFileSync(config, JSON.stringify({ format: 1, devices: instruments.map((one) => one.config) }))
  for (const one of instruments) one.heard = false
  const where = ['--host', '127.0.0.1', '--port', '0', '--data-dir', join(folder, `data-${name}`)]
  const serve = spawn(process.execPath, [benchd, 'serve', '--config', config, ...where], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CACHE_DIRECTORY: join(folder, 'cache') },
  })
  try {
    await addressOf(serve)
    while (!instruments.every(({ heard }) => heard)) await wait(10)
    const start_ms = cpuOf(serve)
    await wait(settling_ms)
    const before = cpuOf(serve)
    await wait(seconds * 1000)
    return { start_ms, idle_ms: (cpuOf(serve) - before) / Math.max(1, seconds), rss_mib: memoryOf(serve.pid!) }
  } finally {
    // Ended in order, it keeps what was compiled.
    await killed(serve, 'SIGTERM')
  }
}

const benchd = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))
const settling_ms = 5000

/** Returns the CPU time of the threads of a process that runs, in milliseconds. The scheduler counts nanoseconds, and proc(5) hundredths of a second. */
function cpuOf({ pid }: ChildProcess): number {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6
}

function rowsOf({ few, all }: Record<'few' | 'all', readonly Spent[]>, further: number): Row[] {
  const of = (spent: readonly Spent[], member: keyof Spent) => median(spent.map((one) => one[member]))
  return [
    row('CPU when idle', 'ms/s', of(all, 'idle_ms'), { limit: of(few, 'idle_ms'), target: { of: 'ratio', most: 1.5 } }),
    row('RSS', 'MiB', of(all, 'rss_mib'), { limit: of(few, 'rss_mib') }),
    row('RSS of a further device', 'MiB', (of(all, 'rss_mib') - of(few, 'rss_mib')) / further, { target: { of: 'value', most: 0.4 } }),
    row('CPU until all were asked', 'ms', of(all, 'start_ms'), { limit: of(few, 'start_ms') }),
    row('CPU of a further device until all were asked', 'ms', (of(all, 'start_ms') - of(few, 'start_ms')) / further, {
      target: { of: 'value', most: 3 },
    }),
  ]
}

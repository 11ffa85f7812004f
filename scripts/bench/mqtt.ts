// The link to an MQTT broker: how soon after the broker's return its retained state is right, and what 30 devices at rest cost.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { silent } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'
import { benchConfig } from '../../src/testing/http.ts'
import { type Mosquitto, mosquitto } from '../../src/testing/mosquitto.ts'
import { bench, median, type Row, row } from './bench.ts'
import { ownFolder } from './child.ts'
import { addressOf, cpuOf, killed } from './process.ts'

export const mqttBench = bench({
  name: 'mqtt',
  summary: 'from the return of an MQTT broker until its retained state is right, at 100 events a second; the CPU time of devices at rest',
  limit: 'without MQTT',
  options: { kills: 20, devices: 30, seconds: 20 },
  async run({ kills, devices, seconds }) {
    const ends: (() => unknown)[] = []
    try {
      const broker = await mosquitto({ teardown: (end: () => unknown) => void ends.push(end) })
      return [...(await kept(broker, kills)), await atRest(broker.url, { devices, seconds })]
    } finally {
      for (const end of ends) await end()
    }
  },
})

async function kept(broker: Mosquitto, kills: number): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-mqtt-'))
  const config = await benchConfig({ system_id: 'bench-1', mqtt: { url: broker.url, events: true } })
  const service = await startService(config, { data_dir: folder, log: silent })
  const { api_key } = await service.bench.keys.create({ name: 'bench', scope: 'operate' })
  const topic = 'benchd/bench-1/device/shaker-1/state'
  const times: number[] = []
  try {
    service.bench.load.start({ rate: 100, seconds: 600 })
    for (let round = 0; round < kills; round++) {
      const isStopped = round % 2 === 0
      await broker.kill()
      const path = `/api/devices/shaker-1/${isStopped ? 'stop' : 'initialize'}`
      await (await fetch(`${service.url}${path}`, { method: 'POST', headers: { 'X-API-Key': api_key } })).text()
      await broker.start()
      const back = performance.now()
      const { heard, next, close } = await broker.listen()
      const isRight = (one: { topic: string; payload: string }) =>
        one.topic === topic && one.payload !== '' && (JSON.parse(one.payload).stopped !== null) === isStopped
      if (!heard.some(isRight)) await next(isRight)
      times.push(performance.now() - back)
      close()
    }
  } finally {
    await service.close()
    rmSync(folder, { recursive: true })
  }
  return [
    row(`the state is right, median of ${kills}`, 'ms', median(times)),
    row(`the state is right, longest of ${kills}`, 'ms', Math.max(...times), { target: { of: 'value', most: 2000, wall: true } }),
  ]
}

const benchd = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))

/** Measures two services beside each other, which differ in MQTT alone. */
async function atRest(url: string, { devices, seconds }: { devices: number; seconds: number }): Promise<Row> {
  const folder = ownFolder()
  const listed = Array.from({ length: devices }, (_, n) => ({
    device_id: `shaker-${n}`,
    driver: 'bioshake',
    transport: { kind: 'simulated' },
  }))
  const serve = (name: string, more: object): ChildProcess => {
    const config = join(folder, `${name}.json`)
    writeFileSync(config, JSON.stringify({ format: 1, devices: listed, ...more }))
    const words = ['serve', '--config', config, '--host', '127.0.0.1', '--port', '0', '--data-dir', join(folder, name)]
    return spawn(process.execPath, [benchd, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  }
  const services = [serve('with', { mqtt: { url } }), serve('without', {})]
  try {
    await Promise.all(services.map(addressOf))
    const pids = services.map(({ pid }) => pid!)
    await wait(2000)
    const before = pids.map(cpuOf)
    await wait(seconds * 1000)
    const [withIt, without] = pids.map((pid, i) => (cpuOf(pid) - before[i]!) / (seconds * 10)) as [number, number]
    return row(`${devices} devices at rest, more than without`, '% of a core', withIt - without, { target: { of: 'value', most: 2 } })
  } finally {
    for (const service of services) await killed(service)
  }
}

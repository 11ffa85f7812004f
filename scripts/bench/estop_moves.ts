// A stop during a move of labware, by each kind of transporter: from the request to the first byte, or to the withdrawal of the task.

import { once } from 'node:events'
import { Agent } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { driver as arm } from '../../drivers/arm/driver.ts'
import { driver as preciseFlex } from '../../drivers/precise_flex/driver.ts'
import { serveOnTcp } from '../../drivers/serve.ts'
import type { Instrument } from '../../src/devices/instrument.ts'
import type { MoveTarget } from '../../src/devices/way.ts'
import { bench, median, percentile, row } from './bench.ts'
import { press } from './estop.ts'
import { serviceWith } from './servers/service.ts'

const labware = { name: 'plate', type: '96-well', barcode: null }
const pose = { x: 300, y: 100, z: 50, yaw: 90, pitch: 0, roll: 0 }
const joints = { base: 290, shoulder: 90, elbow: 60, wrist: 500, rail: 0, gripper: 0 }
const home = { ...joints, base: 20, shoulder: -90 }

/** Calls `heard` when the word comes. */
type Far = { port: number; heard(call: () => void): void; close(): Promise<void> }

async function robot(driver: Parameters<typeof serveOnTcp>[0], word: string): Promise<Far> {
  const served = await serveOnTcp(driver, {}, { port: 0, time_scale: 5 })
  const receive = served.simulator.receive.bind(served.simulator)
  let call = () => {}
  served.simulator.receive = (bytes) => {
    if (Buffer.from(bytes).includes(word)) call()
    receive(bytes)
  }
  return {
    port: served.port,
    heard: (then) => {
      call = then
    },
    close: () => served.close(),
  }
}

/** A program behind a bridge that moves until it is halted. */
async function program(): Promise<Far> {
  let call = () => {}
  let state = 'unhomed'
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined)
    createInterface({ input: socket }).on('line', (line) => {
      const { id, method } = JSON.parse(line) as { id: number; method: string }
      if (method === 'halt') call()
      state = { halt: 'stopped', initialize: 'idle', pick: 'moving' }[method] ?? state
      const described = { protocol: 1, type: 'transporter', model: 'bench', operations: {}, points: 'own' }
      const result = method === 'describe' ? described : method === 'where' ? { state, gripper: 'empty' } : {}
      if (method !== 'pick') socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    heard: (then) => {
      call = then
    },
    async close() {
      server.close()
    },
  }
}

/** The limit of each row is the arm of the line protocol, in the same run. */
export const estopMoves = bench({
  name: 'estop-moves',
  summary: 'stop during a move: from the request to the first byte of the halt, or to the withdrawal of the task of a person',
  limit: 'arm',
  options: { stops: 15 },
  async run({ stops }) {
    const far = { arm: await robot(arm as never, 'stop'), precise_flex: await robot(preciseFlex as never, 'halt'), bridge: await program() }
    const tcp = (port: number) => ({ kind: 'tcp', host: '127.0.0.1', port })
    const { bench, url, close } = await serviceWith({
      devices: [
        { device_id: 'arm', driver: 'arm', transport: tcp(far.arm.port) },
        { device_id: 'precise_flex', driver: 'precise_flex', transport: tcp(far.precise_flex.port) },
        { device_id: 'bridge', driver: 'bridge', type: 'transporter', transport: { ...tcp(far.bridge.port), kind: 'bridge' } },
        { device_id: 'hands', driver: 'person' },
      ],
    })
    const { api_key: key } = await bench.keys.create({ name: 'bench', scope: 'operate' })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const port = Number(new URL(url).port)
    const stopped = async (name: string, heard: (call: () => void) => void) => {
      const arrival = new Promise<number>((resolve) => heard(() => resolve(performance.now())))
      const began = performance.now()
      const answered = press({ port, key, path: `/api/devices/${name}/stop` }, agent)
      const at = await arrival
      await answered
      heard(() => undefined)
      return at - began
    }
    const times: Record<string, number[]> = { arm: [], precise_flex: [], bridge: [], person: [] }
    try {
      for (let i = 0; i < stops; i++) {
        for (const name of ['arm', 'precise_flex', 'bridge'] as const) {
          const instrument = bench.registry.find(name)
          await ready(instrument)
          const move = instrument.carry('pick', target(name, i)).catch(() => undefined)
          await sleep(150)
          if (!instrument.operation.run) throw new Error(`${name} does not move`)
          times[name]!.push(await stopped(name, far[name].heard))
          await move
        }
        const { person } = bench.registry.find('hands').abilities
        await ready(bench.registry.find('hands'))
        times.person!.push(await stopped('hands', (call) => person!.undertake(() => call())))
      }
    } finally {
      agent.destroy()
      await close()
      for (const one of Object.values(far)) await one.close()
    }
    return Object.entries(times).flatMap(([name, its]) => [
      row(`${name}, p50`, 'ms', median(its), { limit: median(times.arm!), target: { of: 'ratio', most: 1.5, wall: true } }),
      row(`${name}, worst`, 'ms', percentile(its, 1), { limit: percentile(times.arm!, 1), target: undefined }),
    ])
  },
})

function target(name: string, i: number): MoveTarget {
  const way = { arm: { at: 'pad', pose }, precise_flex: { at: 'pad', joints: i % 2 ? home : joints }, bridge: null }[name]!
  return { position: 'pad', way, labware }
}

/** Initializes it, when what the stop before left to do is done. */
async function ready(instrument: Instrument): Promise<void> {
  for (;;) {
    const isReady = await instrument.perform('initialize', {}).then(
      ({ success }) => success,
      () => false,
    )
    if (isReady) return
    await sleep(50)
  }
}

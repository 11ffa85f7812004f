// Makes the data folders of former versions in data/, with the code of those versions: `node scripts/upgrades/make.mjs [NAME…]`, in a clone
// with its history. Each version of versions.json is built from its commit, runs on simulated devices, and is left in each of the scenes below.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const clone = fileURLToPath(new URL('../..', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
const versions = JSON.parse(readFileSync(`${here}versions.json`, 'utf8'))

const devices = [
  { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  { device_id: 'sealer-1', driver: 'a4s', transport: { kind: 'simulated' } },
  { device_id: 'arm-1', driver: 'arm', transport: { kind: 'simulated' } },
]
const positions = ['pad_1', 'pad_2', 'pad_3', 'pad_4', 'shaker_in', 'sealer_in']
const topology = {
  format: 1,
  name: 'bench',
  transporters: { 'arm-1': { positions } },
  positions: {
    pad_1: {},
    pad_2: {},
    pad_3: { parking: true },
    pad_4: {},
    shaker_in: { device: 'shaker-1' },
    sealer_in: { device: 'sealer-1' },
  },
}
const shake = (duration) => ({ do: 'shake', on: 'shaker-1', with: { speed: 500, duration } })
/** A plate is brought to the shaker and back; a lid waits for the event `go` meanwhile. */
const work = {
  format: 1,
  name: 'work',
  topology: 'bench',
  labware: { plate: { type: '96-well' }, lid: { type: 'lid' } },
  methods: { shake_it: [shake(1)], shake_again: [shake(1)] },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'shake_it' }, { method: 'shake_again' }],
    },
    lid: {
      labware: 'lid',
      start: { at: 'pad_2', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ wait_for: 'go' }],
    },
  },
  start: ['plate', 'lid'],
}
/** Leaves a plate at `pad_4` that no run moves. */
const leave = {
  format: 1,
  name: 'leave',
  topology: 'bench',
  labware: { rest: { type: '96-well' } },
  methods: {},
  threads: {
    rest: { labware: 'rest', start: { at: 'pad_4', mode: 'REUSE_EXISTING' }, end: { at: ['pad_4'], mode: 'LEAVE_IN_PLACE' }, steps: [] },
  },
  start: ['rest'],
}

const scenes = {
  /** Nothing runs, and every journal has been written to. */
  async idle(bench) {
    for (let n = 1; n <= 20; n++) {
      const point = {
        device_id: 'arm-1',
        name: `point_${n}`,
        coord_type: 'cartesian',
        coords: { x: n, y: 100, z: 50, yaw: 0, pitch: 0, roll: 0 },
      }
      await bench.ask('POST', '/api/teachpoints', point, { 'Idempotency-Key': `point-${n}` })
    }
    await bench.ask('POST', '/api/keys', { name: 'laptop', scope: 'operate' })
    await bench.ask('POST', '/api/devices/shaker-1/initialize', undefined, { 'Idempotency-Key': 'initialize-1' })
    await bench.ask('POST', '/api/devices/shaker-1/shake', { speed: -1, duration: 1 }, {}, 400)
    const { execution_id } = await bench.submit('work')
    await bench.until(
      `/api/executions/${execution_id}/threads`,
      ({ threads }) => threads.find(({ thread_name }) => thread_name === 'plate')?.status === 'COMPLETED',
    )
    await bench.ask('POST', `/api/executions/${execution_id}/emit`, { name: 'go' })
    await bench.until(`/api/executions/${execution_id}`, ({ status }) => status === 'COMPLETED')
    await bench.ask('POST', '/api/devices/sealer-1/stop')
    await bench.end('SIGTERM')
  },
  /** A run is paused. */
  async paused(bench) {
    const { execution_id } = await bench.submit('work')
    await bench.until(`/api/executions/${execution_id}/threads`, ({ threads }) => threads.some(({ status }) => status === 'MOVING'))
    await bench.ask('POST', `/api/executions/${execution_id}/pause`)
    await bench.until(`/api/executions/${execution_id}/threads`, ({ threads }) =>
      threads.some(({ thread_name, status }) => thread_name === 'plate' && status === 'PAUSED'),
    )
    await bench.end('SIGTERM')
  },
  /** The service was killed while the arm moved a plate. */
  async killed(bench) {
    const { execution_id } = await bench.submit('work')
    await bench.until(`/api/executions/${execution_id}/threads`, ({ threads }) => threads.some(({ status }) => status === 'MOVING'))
    await bench.until('/api/devices/arm-1', ({ state }) => state === 'busy')
    await bench.end('SIGKILL')
  },
}

async function make({ name, commit }) {
  const top = mkdtempSync(`${tmpdir()}/benchd-upgrades-`)
  const code = `${top}/code`
  const git = (...words) => execFileSync('git', ['-C', clone, ...words], { stdio: ['ignore', 'pipe', 'ignore'] })
  git('worktree', 'add', '--force', '--detach', code, commit)
  try {
    symlinkSync(`${clone}/node_modules`, `${code}/node_modules`)
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: code, stdio: 'inherit' })
    for (const scene of Object.keys(scenes)) {
      const folder = `${top}/${scene}`
      await left(scene, { code, folder })
      writeFileSync(`${folder}/config.json`, readFileSync(`${folder}/config.json`, 'utf8').replaceAll(folder, ''))
      mkdirSync(`${here}data`, { recursive: true })
      pack(folder, `${here}data/${name}-${scene}.tar.gz`)
      console.log(`${name} ${scene}`)
    }
  } finally {
    git('worktree', 'remove', '--force', code)
    rmSync(top, { recursive: true })
  }
}

async function left(scene, { code, folder }) {
  mkdirSync(`${folder}/topologies`, { recursive: true })
  mkdirSync(`${folder}/state`)
  writeFileSync(`${folder}/topologies/bench.json`, JSON.stringify(topology))
  writeFileSync(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices }))
  const bench = await started({ code, folder })
  try {
    for (const one of positions) {
      const coords = { x: 200, y: 100, z: 50 + positions.indexOf(one), yaw: 0, pitch: 0, roll: 0 }
      await bench.ask('POST', '/api/teachpoints', { device_id: 'arm-1', name: one, coord_type: 'cartesian', coords })
    }
    await bench.ask('PUT', '/api/workflows/work', work)
    await bench.ask('PUT', '/api/workflows/leave', leave)
    await bench.ask('POST', '/api/topology/load', { name: 'bench' })
    for (const { device_id } of devices) await bench.ask('POST', `/api/devices/${device_id}/initialize`)
    const { execution_id } = await bench.submit('leave')
    await bench.until(`/api/executions/${execution_id}`, ({ status }) => status === 'COMPLETED')
    await scenes[scene](bench)
  } finally {
    await bench.end('SIGKILL')
  }
}

async function started({ code, folder }) {
  const words = ['dist/src/cli/main.js', 'serve', '--config', `${folder}/config.json`, '--data-dir', `${folder}/state`]
  const child = spawn(process.execPath, [...words, '--topologies', `${folder}/topologies`], { cwd: code, stdio: 'ignore' })
  const ended = once(child, 'exit')
  const send = (method, path, body, headers) =>
    new Promise((resolve, reject) => {
      const options = {
        socketPath: `${folder}/state/control.sock`,
        method,
        path,
        headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) },
      }
      const asking = request(options, async (response) => {
        const text = Buffer.concat(await response.toArray()).toString()
        resolve({ status: response.statusCode, body: text && JSON.parse(text) })
      })
      asking.on('error', reject)
      asking.end(body && JSON.stringify(body))
    })
  async function ask(method, path, body, headers = {}, wanted = undefined) {
    const answer = await send(method, path, body, headers)
    if (wanted ? answer.status !== wanted : answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  async function until(path, isSo) {
    for (const from = Date.now(); ; await sleep(20)) {
      const body = await ask('GET', path)
      if (isSo(body)) return
      if (Date.now() - from > 120_000) throw new Error(`${path} does not come to it: ${JSON.stringify(body)}`)
    }
  }
  while (!existsSync(`${folder}/state/control.sock`)) await sleep(50)
  for (;;) {
    const health = await send('GET', '/health').catch(() => undefined)
    if (['ok', 'degraded'].includes(health?.body.status)) break
    await sleep(50)
  }
  await until('/api/devices', ({ devices: all }) => all.every(({ state }) => state !== 'disconnected'))
  return {
    ask,
    until,
    submit: (workflow) => ask('POST', '/api/submissions', { workflow, run_mode: 'LIVE' }),
    async end(signal) {
      child.kill(signal)
      await ended
    },
  }
}

/** The same files give the same bytes. */
function pack(folder, file) {
  const leave = ['*.sock', 'state/backups', 'state/.*']
  const words = [
    '--sort=name',
    '--mtime=2026-01-01',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    ...leave.map((one) => `--exclude=${one}`),
  ]
  const tar = execFileSync('tar', ['-C', folder, ...words, '-cf', '-', 'config.json', 'topologies', 'state'])
  writeFileSync(file, execFileSync('gzip', ['-9n'], { input: tar }))
}

const wanted = process.argv.slice(2)
for (const version of versions) if (wanted.length === 0 || wanted.includes(version.name)) await make(version)

// Builds each version of versions.json from its commit, in a clone with its history:
//
//   node scripts/upgrades/make.mjs [NAME…]                    makes the data folders that the version leaves in each of the scenes below, on
//                                                             simulated devices, where data/ has none, and notes in versions.json which
//                                                             format of each file it knows
//   node scripts/upgrades/make.mjs --packages DIR [NAME…]     makes its Debian package DIR/NAME-COMMIT.deb, unless that is there

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { crc32 } from 'node:zlib'

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
  /** A rehearsal is open, in which a thread has ended. */
  async rehearsed(bench) {
    const { execution_id } = await bench.submit('work', 'DEVICE_SIM')
    await bench.until(`/api/executions/${execution_id}/threads`, ({ threads }) =>
      threads.some(({ thread_name, status }) => thread_name === 'plate' && status === 'COMPLETED'),
    )
    await bench.end('SIGTERM')
  },
}

/** Calls `work` with the folder of the version's code, which is built, and a folder for what `work` makes. */
async function withCodeOf({ commit }, work) {
  const top = mkdtempSync(`${tmpdir()}/benchd-upgrades-`)
  const code = `${top}/code`
  const git = (...words) => execFileSync('git', ['-C', clone, ...words], { stdio: ['ignore', 'pipe', 'ignore'] })
  git('worktree', 'add', '--force', '--detach', code, commit)
  try {
    symlinkSync(`${clone}/node_modules`, `${code}/node_modules`)
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: code, stdio: 'inherit' })
    await work(code, top)
  } finally {
    git('worktree', 'remove', '--force', code)
    rmSync(top, { recursive: true })
  }
}

function makeFolders(version) {
  return withCodeOf(version, async (code, top) => {
    for (const scene of Object.keys(scenes)) {
      const file = `${here}data/${version.name}-${scene}.tar.gz`
      if (existsSync(file)) continue
      const folder = `${top}/${scene}`
      await left(scene, { code, folder })
      writeFileSync(`${folder}/config.json`, readFileSync(`${folder}/config.json`, 'utf8').replaceAll(folder, ''))
      mkdirSync(`${here}data`, { recursive: true })
      pack(folder, file)
      console.log(`${version.name} ${scene}`)
    }
    version.knows = await knownFormats(version, { code, top })
    writeFileSync(`${here}versions.json`, `${JSON.stringify(versions, null, 2)}\n`)
  })
}

/** A file of JSON lines as a later version may begin it: the second line says the same as the first. */
const length = '"format":99,"bytes":"000000000000"}'
const ofFormat99 = `{"format":99}\n{"crc":"${crc32(length).toString(16).padStart(8, '0')}",${length}\n`

/** The newest format of each file that this version reads at its start, as it says when it finds a newer one. */
async function knownFormats(version, { code, top }) {
  const known = {}
  for (const name of stateFiles()) {
    const folder = `${top}/knows-${name.replace('/', '-')}`
    mkdirSync(folder)
    execFileSync('tar', ['-C', folder, '-xzf', `${here}data/${version.name}-idle.tar.gz`])
    writeFileSync(`${folder}/state/${name}`, name.endsWith('.jsonl') ? ofFormat99 : '{"format":99}\n')
    const [, format] = /has format 99; this version knows up to (\d+)/.exec(await saidAtStart({ code, folder })) ?? []
    if (format) known[name] = Number(format)
  }
  return known
}

/** Returns what the service says until it serves, or ends. */
async function saidAtStart({ code, folder }) {
  const words = ['dist/src/cli/main.js', 'serve', '--config', `${folder}/config.json`, '--data-dir', `${folder}/state`]
  const child = spawn(process.execPath, [...words, '--topologies', `${folder}/topologies`], { cwd: code })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes) => {
      said += bytes
      if (said.includes('listens on')) child.kill('SIGKILL')
    })
  await once(child, 'close')
  return said
}

/** Every file of JSON that some version has left. */
function stateFiles() {
  const listed = readdirSync(`${here}data`).flatMap((name) =>
    execFileSync('tar', ['-tzf', `${here}data/${name}`], { encoding: 'utf8' }).split('\n'),
  )
  const names = listed.flatMap((name) => /^state\/((executions\/state-000001|[^/]+)\.jsonl?)$/.exec(name)?.[1] ?? [])
  return [...new Set(names)].sort()
}

async function makePackage(version, folder) {
  const file = `${folder}/${version.name}-${version.commit}.deb`
  if (existsSync(file)) return
  mkdirSync(folder, { recursive: true })
  await withCodeOf(version, (code, top) => {
    const said = execFileSync('scripts/package', ['--out', top], { cwd: code, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    cpSync(said.trim().split('\n').at(-1), `${file}.new`)
    renameSync(`${file}.new`, file)
  })
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
    submit: (workflow, run_mode = 'LIVE') => ask('POST', '/api/submissions', { workflow, run_mode }),
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

const { values, positionals } = parseArgs({ options: { packages: { type: 'string' } }, allowPositionals: true })
for (const version of versions) {
  if (positionals.length > 0 && !positionals.includes(version.name)) continue
  await (values.packages === undefined ? makeFolders(version) : makePackage(version, resolve(values.packages)))
}

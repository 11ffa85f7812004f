// Builds each version of versions.json from its commit, in a clone with its history:
//
//   node scripts/upgrades/make.mjs [NAME…]                    makes the data folders that the version leaves in each of the scenes below, on
//                                                             simulated devices, where data/ has none, and notes in versions.json which
//                                                             format of each file it knows
//   node scripts/upgrades/make.mjs --packages DIR [NAME…]     makes its Debian package DIR/NAME-COMMIT.deb, unless that is there

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { crc32 } from 'node:zlib'

const clone = fileURLToPath(new URL('../..', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
const versions = JSON.parse(fs.readFileSync(`${here}versions.json`, 'utf8'))

const devices = Object.entries({ 'shaker-1': 'bioshake', 'sealer-1': 'a4s', 'arm-1': 'arm' }).map(([device_id, driver]) => {
  return { device_id, driver, transport: { kind: 'simulated' } }
})
const pads = { pad_1: {}, pad_2: {}, pad_3: { parking: true }, pad_4: {} }
const positions = { ...pads, shaker_in: { device: 'shaker-1' }, sealer_in: { device: 'sealer-1' } }
const names = Object.keys(positions)
const topology = { format: 1, name: 'bench', transporters: { 'arm-1': { positions: names } }, positions }
const shake_it = [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 1 } }]
const stays = (at) => ({ start: { at, mode: 'REUSE_EXISTING' }, end: { at: [at], mode: 'LEAVE_IN_PLACE' } })
const threadsOfWork = {
  plate: { labware: 'plate', ...stays('pad_1'), steps: [{ method: 'shake_it' }, { method: 'shake_again' }] },
  lid: { labware: 'lid', ...stays('pad_2'), steps: [{ wait_for: 'go' }] },
}
const workflows = {
  /** A plate is brought to the shaker and back; a lid waits for the event `go` meanwhile. */
  work: {
    ...{ labware: { plate: { type: '96-well' }, lid: { type: 'lid' } }, methods: { shake_it, shake_again: shake_it } },
    ...{ threads: threadsOfWork, start: ['plate', 'lid'] },
  },
  /** Leaves a plate at `pad_4` that no run moves. */
  leave: {
    ...{ labware: { rest: { type: '96-well' } }, methods: {} },
    ...{ threads: { rest: { labware: 'rest', ...stays('pad_4'), steps: [] } }, start: ['rest'] },
  },
}

/** Teaches the arm a point. */
function teach(bench, name, { x, z }, headers) {
  const coords = { x, y: 100, z, yaw: 0, pitch: 0, roll: 0 }
  return bench.ask('POST', '/api/teachpoints', { device_id: 'arm-1', name, coord_type: 'cartesian', coords }, headers)
}

/** Begins `work`, and resolves with its run once one of its threads is so. */
async function workUntil(bench, isSo, run_mode) {
  const { execution_id } = await bench.submit('work', run_mode)
  const run = `/api/executions/${execution_id}`
  await bench.until(`${run}/threads`, ({ threads }) => threads.some(isSo))
  return run
}

const isMoving = ({ status }) => status === 'MOVING'
const plateIs = (wanted) => (thread) => thread.thread_name === 'plate' && thread.status === wanted

const scenes = {
  /** Nothing runs, and every journal has been written to. */
  async idle(bench) {
    for (let n = 1; n <= 20; n++) await teach(bench, `point_${n}`, { x: n, z: 50 }, { 'Idempotency-Key': `point-${n}` })
    await bench.ask('POST', '/api/keys', { name: 'laptop', scope: 'operate' })
    await bench.ask('POST', '/api/devices/shaker-1/initialize', undefined, { 'Idempotency-Key': 'initialize-1' })
    await bench.ask('POST', '/api/devices/shaker-1/shake', { speed: -1, duration: 1 }, {}, 400)
    const run = await workUntil(bench, plateIs('COMPLETED'))
    await bench.ask('POST', `${run}/emit`, { name: 'go' })
    await bench.until(run, ({ status }) => status === 'COMPLETED')
    await bench.ask('POST', '/api/devices/sealer-1/stop')
    await bench.end('SIGTERM')
  },
  /** A run is paused. */
  async paused(bench) {
    const run = await workUntil(bench, isMoving)
    await bench.ask('POST', `${run}/pause`)
    await bench.until(`${run}/threads`, ({ threads }) => threads.some(plateIs('PAUSED')))
    await bench.end('SIGTERM')
  },
  /** The service was killed while the arm moved a plate. */
  async killed(bench) {
    await workUntil(bench, isMoving)
    await bench.until('/api/devices/arm-1', ({ state }) => state === 'busy')
    await bench.end('SIGKILL')
  },
  /** A rehearsal is open, in which a thread has ended. */
  async rehearsed(bench) {
    await workUntil(bench, plateIs('COMPLETED'), 'DEVICE_SIM')
    await bench.end('SIGTERM')
  },
}

/** Calls `work` with the folder of the version's code, which is built, and a folder for what `work` makes. */
async function withCodeOf({ commit }, work) {
  const top = fs.mkdtempSync(`${tmpdir()}/benchd-upgrades-`)
  const code = `${top}/code`
  const git = (...words) => execFileSync('git', ['-C', clone, ...words], { stdio: ['ignore', 'pipe', 'ignore'] })
  git('worktree', 'add', '--force', '--detach', code, commit)
  try {
    fs.symlinkSync(`${clone}/node_modules`, `${code}/node_modules`)
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: code, stdio: 'inherit' })
    await work(code, top)
  } finally {
    git('worktree', 'remove', '--force', code)
    fs.rmSync(top, { recursive: true })
  }
}

function makeFolders(version) {
  return withCodeOf(version, async (code, top) => {
    for (const scene of Object.keys(scenes)) {
      const file = `${here}data/${version.name}-${scene}.tar.gz`
      if (fs.existsSync(file)) continue
      const folder = `${top}/${scene}`
      await left(scene, { code, folder })
      fs.writeFileSync(`${folder}/config.json`, fs.readFileSync(`${folder}/config.json`, 'utf8').replaceAll(folder, ''))
      fs.mkdirSync(`${here}data`, { recursive: true })
      pack(folder, file)
      console.log(`${version.name} ${scene}`)
    }
    version.knows = await knownFormats(version, { code, top })
    fs.writeFileSync(`${here}versions.json`, `${JSON.stringify(versions, null, 2)}\n`)
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
    fs.mkdirSync(folder)
    execFileSync('tar', ['-C', folder, '-xzf', `${here}data/${version.name}-idle.tar.gz`])
    fs.writeFileSync(`${folder}/state/${name}`, name.endsWith('.jsonl') ? ofFormat99 : '{"format":99}\n')
    const [, format] = /has format 99; this version knows up to (\d+)/.exec(await saidAtStart({ code, folder })) ?? []
    if (format) known[name] = Number(format)
  }
  return known
}

function serve({ code, folder }, stdio) {
  const words = ['dist/src/cli/main.js', 'serve', '--config', `${folder}/config.json`, '--data-dir', `${folder}/state`]
  return spawn(process.execPath, [...words, '--topologies', `${folder}/topologies`], { cwd: code, stdio })
}

/** Returns what the service says until it serves, or ends. */
async function saidAtStart({ code, folder }) {
  const child = serve({ code, folder }, 'pipe')
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
  const list = (name) => execFileSync('tar', ['-tzf', `${here}data/${name}`], { encoding: 'utf8' }).split('\n')
  const listed = fs.readdirSync(`${here}data`).flatMap(list)
  const names = listed.flatMap((name) => /^state\/((executions\/state-000001|[^/]+)\.jsonl?)$/.exec(name)?.[1] ?? [])
  return [...new Set(names)].sort()
}

async function makePackage(version, folder) {
  const file = `${folder}/${version.name}-${version.commit}.deb`
  if (fs.existsSync(file)) return
  fs.mkdirSync(folder, { recursive: true })
  // $BENCHD_DIST names the build of today, but an older version is packed from its own build.
  const { BENCHD_DIST: _, ...env } = process.env
  await withCodeOf(version, (code, top) => {
    const said = execFileSync('scripts/package', ['--out', top], { cwd: code, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    fs.cpSync(said.trim().split('\n').at(-1), `${file}.new`)
    fs.renameSync(`${file}.new`, file)
  })
}

async function left(scene, { code, folder }) {
  fs.mkdirSync(`${folder}/topologies`, { recursive: true })
  fs.mkdirSync(`${folder}/state`)
  fs.writeFileSync(`${folder}/topologies/bench.json`, JSON.stringify(topology))
  fs.writeFileSync(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices }))
  const bench = await started({ code, folder })
  try {
    for (const [n, name] of names.entries()) await teach(bench, name, { x: 200, z: 50 + n })
    for (const [name, its] of Object.entries(workflows))
      await bench.ask('PUT', `/api/workflows/${name}`, { format: 1, name, topology: 'bench', ...its })
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
  const child = serve({ code, folder }, 'ignore')
  const ended = once(child, 'exit')
  const send = (method, path, body, headers) =>
    new Promise((resolve, reject) => {
      const all = { ...headers, ...(body && { 'Content-Type': 'application/json' }) }
      const asking = request({ socketPath: `${folder}/state/control.sock`, method, path, headers: all }, async (response) => {
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
  while (!fs.existsSync(`${folder}/state/control.sock`)) await sleep(50)
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
  const left = ['*.sock', 'state/backups', 'state/.*'].map((one) => `--exclude=${one}`)
  const words = ['--sort=name', '--mtime=2026-01-01', '--owner=0', '--group=0', '--numeric-owner', ...left]
  const tar = execFileSync('tar', ['-C', folder, ...words, '-cf', '-', 'config.json', 'topologies', 'state'])
  fs.writeFileSync(file, execFileSync('gzip', ['-9n'], { input: tar }))
}

const { values, positionals } = parseArgs({ options: { packages: { type: 'string' } }, allowPositionals: true })
for (const version of versions) {
  if (positionals.length > 0 && !positionals.includes(version.name)) continue
  await (values.packages === undefined ? makeFolders(version) : makePackage(version, resolve(values.packages)))
}

// Data folders that former versions have left, as `make.mjs` made them: today's version goes on with each, or its package refuses to be
// installed; and the package's own scripts take each back to where it was.

import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { withChecksum, withoutChecksum } from '../../src/kit/checksum.ts'
import { formatOf } from '../../src/kit/format_line.ts'
import { lengthLine } from '../../src/kit/length_line.ts'
import { type Log, silent } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

/** `knows`: the newest format of each file that the version reads at its start. */
type Version = { name: string; commit: string; version: string; run_state: number; knows: Record<string, number> }
type Scene = (typeof scenes)[number]

const scenes = ['idle', 'paused', 'killed', 'rehearsed'] as const
const source = (path: string) => fileURLToPath(new URL(`../../../scripts/${path}`, import.meta.url))
const versions: Version[] = JSON.parse(readFileSync(source('upgrades/versions.json'), 'utf8'))
const all = versions.flatMap((version) => scenes.map((scene) => ({ version, scene, title: `${version.name}, ${scene}` })))
/** Runs of these versions are open, and no later version goes on with them. */
const isRefused = ({ run_state }: Version, scene: Scene) => run_state === 1 && scene !== 'idle'

/** Lays out the root folder of a bench computer, with the data folder that this version left. */
function machine(t: Test, { name }: Version, scene: Scene) {
  // Not the folder that tap makes: the path of a socket may have a hundred characters.
  const top = mkdtempSync(`${tmpdir()}/benchd-upgrade-`)
  t.teardown(() => rmSync(top, { recursive: true, maxRetries: 3 }))
  for (const folder of ['etc/benchd', 'var/lib', 'var/cache', 'var/backups']) mkdirSync(`${top}/${folder}`, { recursive: true })
  const [state, config] = [`${top}/var/lib/benchd`, `${top}/etc/benchd`]
  execFileSync('tar', ['-C', config, '--no-same-owner', '-xzf', source(`upgrades/data/${name}-${scene}.tar.gz`)])
  execFileSync('mv', [`${config}/state`, state])
  return { top, state, config }
}

async function started({ state, config }: { state: string; config: string }, log: Log = silent) {
  const service = await startService(await readConfig(`${config}/config.json`), {
    data_dir: state,
    topologies: `${config}/topologies`,
    log,
  })
  const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
      const options = { socketPath: `${state}/control.sock`, method, path, headers: { ...headers, 'Content-Type': 'application/json' } }
      const asking = request(options, async (response) => {
        const text = Buffer.concat(await response.toArray()).toString()
        resolve({ status: response.statusCode!, body: JSON.parse(text) })
      })
      asking.on('error', reject)
      asking.end(body && JSON.stringify(body))
    })
  return { ...service, ask }
}

const point = (n: number) => ({
  device_id: 'arm-1',
  name: `point_${n}`,
  coord_type: 'cartesian',
  coords: { x: n, y: 100, z: 50, yaw: 0, pitch: 0, roll: 0 },
})

/** Sets the times in a file of requests to now, because the service keeps an answer for a day. Each line keeps its length. */
function setRequestTimesToNow(path: string): void {
  if (!existsSync(path)) return
  const lines = readFileSync(path, 'utf8').split('\n')
  const now = lines.map((line) => {
    const json = withoutChecksum(line)
    const dated = (json ?? line).replace(/"at":\d{10}/, `"at":${Math.floor(Date.now() / 1000)}`)
    return json === undefined ? dated : withChecksum(dated)
  })
  writeFileSync(path, now.join('\n'))
}

/** The files with JSON in them, by their names in the folder. */
function contentOf(state: string): Map<string, string> {
  const names = readdirSync(state, { recursive: true, encoding: 'utf8' }).filter((name) => /\.jsonl?(\.bak)?$/.test(name))
  return new Map(names.sort().map((name) => [name, readFileSync(`${state}/${name}`, 'utf8')]))
}

function formatIn(name: string, text: string): number {
  return name.endsWith('.jsonl') ? formatOf(text) : Number(JSON.parse(text).format ?? 1)
}

for (const { version, scene, title } of all) {
  test(`${title}: the package asks for the end of a run that no later version goes on with`, (t) => {
    const { top, state } = machine(t, version, scene)
    const here = readFileSync(source('debian/preinst'), 'utf8').replaceAll(/(?<![\w/.])\/(var|usr)(?=\/)/g, `${top}/$1`)
    const { status, stderr } = spawnSync('sh', ['-c', here, 'preinst', 'upgrade', version.version], { encoding: 'utf8' })
    t.equal(status, isRefused(version, scene) ? 1 : 0)
    if (isRefused(version, scene)) {
      const id = readdirSync(`${state}/executions`)[0]!.slice(0, -'.jsonl'.length)
      t.ok(stderr.includes(`\n  work (${id})\n`), stderr)
      t.notOk(existsSync(`${top}/var/cache/benchd`), 'nothing is begun')
    }
    t.end()
  })

  if (isRefused(version, scene)) continue

  test(`${title}: everything is there, and an open run is paused`, async (t) => {
    const { state, config } = machine(t, version, scene)
    setRequestTimesToNow(`${state}/idempotency.jsonl`)
    const { ask, close } = await started({ state, config })
    const list = async <Item>(path: string, name: string) => (await ask('GET', path)).body[name] as Item[]
    try {
      const points = await list('/api/teachpoints?device_id=arm-1', 'teachpoints')
      t.equal(points.length, scene === 'idle' ? 26 : 6)
      const runs = await list<{ execution_id: string; workflow_name: string; status: string; paused: unknown }>(
        '/api/executions',
        'executions',
      )
      const work = runs.find(({ workflow_name }) => workflow_name === 'work')!
      t.equal(runs.find(({ workflow_name }) => workflow_name === 'leave')?.status, 'COMPLETED')
      const where = new Map(
        (await list<{ name: string; position: string; held_by: string | null; run_mode: string }>('/api/labware', 'labware')).map((one) => [
          one.name,
          one,
        ]),
      )
      t.equal(where.get('rest')?.position, 'pad_4')
      t.equal(where.get('lid')?.position, 'pad_2')
      if (scene === 'idle') {
        t.equal(work.status, 'COMPLETED')
        t.equal(where.get('plate')?.position, 'pad_1')
        t.match(await ask('GET', '/api/devices/sealer-1'), { body: { state: /stopped|not_initialized|uninitialized|halted/ } })
        t.match(await list('/api/keys', 'keys'), [{ name: 'laptop' }])
        // 0.1.0 did not store answers over its end.
        if (existsSync(`${state}/idempotency.jsonl`) && version.name !== '0.1.0')
          t.equal((await ask('POST', '/api/teachpoints', point(1), { 'Idempotency-Key': 'point-1' })).status, 201, 'an answer is repeated')
      } else {
        t.match(work, { status: 'IN_PROGRESS', paused: { reason: 'system' } })
        const resumed = await ask('POST', `/api/executions/${work.execution_id}/resume`)
        if (scene !== 'killed') t.equal(resumed.status, 200)
        if (scene === 'rehearsed') t.match(where.get('plate'), { position: 'pad_1', run_mode: 'DEVICE_SIM' }, 'its thread has ended')
        if (scene === 'killed') {
          t.equal(where.get('plate')?.held_by, 'arm-1')
          t.match(resumed, { status: 409, body: { detail: /say where it is/ } })
        }
      }
      const incidents = await list<{ message: string }>('/api/incidents', 'incidents')
      t.same(
        incidents.filter(({ message }) => /damaged|cannot be taken up/.test(message)),
        [],
      )
    } finally {
      await close()
    }
    t.same(
      readdirSync(state, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.corrupt-')),
      [],
    )
  })

  const cannot = process.geteuid?.() !== 0 && 'only root can do this for another user'
  test(`${title}: after an upgrade that came to nothing the older version reads each file`, { skip: cannot }, async (t) => {
    const { top, state, config } = machine(t, version, scene)
    const before = contentOf(state)
    const bin = `${top}/bin`
    mkdirSync(bin)
    const programs = { 'dpkg-deb': 'for last; do :; done; echo a package >"$last"', dpkg: '', 'dpkg-query': '', systemctl: '' }
    for (const [name, text] of Object.entries(programs)) writeFileSync(`${bin}/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    const call = (script: string, ...words: string[]) => {
      const here = readFileSync(source(`debian/${script}`), 'utf8').replaceAll(/(?<![\w/.])\/(var|etc|run)(?=\/)/g, `${top}/$1`)
      return execFileSync('sh', ['-c', here, script, ...words], {
        encoding: 'utf8',
        env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
      })
    }
    call('keep-package', version.version)

    const { ask, close } = await started({ state, config })
    t.equal((await ask('POST', '/api/teachpoints', point(99), { 'Idempotency-Key': 'point-99' })).status, 201)
    await ask('POST', '/api/devices/sealer-1/stop', {}, { 'Idempotency-Key': 'stop-1' })
    await close()
    const newer = contentOf(state)

    chmodSync(top, 0o755)
    const said = call('roll-back')
    const after = contentOf(state)
    const most = Math.max(...Object.values(version.knows))
    for (const [name, text] of after) t.ok(formatIn(name, text) <= (version.knows[name.replace(/\d{6}/, '000001')] ?? most), name)
    // A roll-back leaves these files as they are: they hold the present state of the bench, and its log.
    const stays = /^(events\/|(latches|keys|event_ids|fleet)\.json|(runs|notify|audit.*)\.jsonl)/
    for (const [name, text] of before) if (!stays.test(name)) t.equal(after.get(name), text, name)
    for (const [name, text] of newer) {
      if (after.get(name) === text) continue
      t.equal(readFileSync(`${state}/${name}.newer`, 'utf8'), text, `${name} is kept`)
      t.ok(said.includes(` ${name}`), name)
    }
    t.ok(existsSync(`${state}/teachpoints.json.newer`))
  })
}

/** The files of the state that the map of the code lists, and one of each kind in its folders. */
const [, listed = ''] = /^The state lies in one folder: ([\s\S]*?)\. /m.exec(readFileSync(source('../src/README.md'), 'utf8')) ?? []
const stateFiles = [...listed.matchAll(/`([\w.-]+\.jsonl?)`/g)]
  .map(([, name]) => name!)
  .concat('executions/state-000001.jsonl', 'events/removed.json', 'events/cut_lines.json')
/** The lab is no part of these configurations. */
const isNotLookedAt = new Set(['fleet.json', 'trial_key.json'])

/** The newest format of that file that this version reads, as it says when it finds a newer one; undefined where it does not look. */
async function known(t: Test, name: string): Promise<number | undefined> {
  const { state, config } = machine(t, versions.at(-1)!, 'idle')
  // A file of JSON lines repeats its format in its second line.
  const isLines = name.endsWith('.jsonl') && !name.startsWith('executions/')
  writeFileSync(`${state}/${name}`, `{"format":99}\n${isLines ? lengthLine({ format: 99, bytes: 0 }) : ''}`)
  const said: string[] = []
  const say = (message: string) => said.push(message)
  try {
    const { ask, close } = await started({ state, config }, { info() {}, warn: say, error: say })
    // These are read when somebody asks for them.
    for (const path of ['/api/system/audit', '/api/operations/none']) say(JSON.stringify((await ask('GET', path)).body))
    await close()
  } catch (error) {
    say((error as Error).message)
  }
  const [, format] = new RegExp(`${basename(name)} has format 99; this version knows up to (\\d+)`).exec(said.join('\n')) ?? []
  return format === undefined ? undefined : Number(format)
}

test('of every format before the one that this version writes there is a data folder', async (t) => {
  t.ok(stateFiles.length > 20)
  const written = new Set<string>()
  for (const { version, scene } of all) {
    for (const [name, text] of contentOf(machine(t, version, scene).state)) {
      const kind = kindOf(name)
      written.add(`${kind} ${formatIn(name, text)}`)
    }
  }
  for (const name of stateFiles) {
    const newest = await known(t, name)
    t.ok(newest !== undefined || isNotLookedAt.has(name), `${name} of a newer format is refused, and left as it is`)
    for (let format = oldest(name); format < (newest ?? 0); format++)
      t.ok(written.has(`${kindOf(name)} ${format}`), `${name}: no data folder has format ${format}; add a line to versions.json`)
  }
})

/** All files of JSON lines are read by one reader, whatever is in them, but that of open runs. */
function kindOf(name: string): string {
  if (name.startsWith('executions/state-')) return 'executions/state-'
  return name.endsWith('.jsonl') ? 'lines' : name
}

/** Of open runs, the package refuses format 1. */
function oldest(name: string): number {
  return name.startsWith('executions/') ? 2 : 1
}

// Every data folder that a former version has left (scripts/upgrades), under that version's package: upgraded by dpkg to a version whose service
// breaks off, and taken back; then upgraded for good. Where a run of 0.1.0 or 0.2.0 is open, the package refuses to be installed.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { formatOf } from '../../../src/kit/format_line.ts'
import {
  benchd,
  brokenPackage,
  dpkg,
  installedVersion,
  nextPackage,
  property,
  service,
  systemctl,
  version as thisVersion,
} from './service_unit.ts'
import { until } from './waiting.ts'

type Version = { name: string; commit: string; version: string; run_state: number; knows: Record<string, number> }
type Run = { execution_id: string; workflow_name: string; status: string; paused: { reason: string } | null }

const run = promisify(execFile)
const upgrades = '/project/scripts/upgrades'
const [state, config, cache] = ['/var/lib/benchd', '/etc/benchd', '/var/cache/benchd']
const dropIns = '/run/systemd/system/benchd.service.d'
const asked = '/root/asked'
const snapshot = '/root/rolled-back'
const patience_ms = 60_000
const versions: Version[] = JSON.parse(readFileSync(`${upgrades}/versions.json`, 'utf8'))
const next = `${thisVersion}+next`
/** The scenes of a version, in order. The package refuses an open run of 0.1.0 or 0.2.0. The last scene is upgraded for good. */
const scenes = ({ run_state }: Version) =>
  run_state === 1 ? ['paused', 'killed', 'rehearsed', 'idle'] : ['idle', 'killed', 'rehearsed', 'paused']
/** The files that a roll-back leaves as they are: the present state of the bench. The event log is cut, and not compared here. */
const stays = /^(events\/|(latches|keys|event_ids|fleet)\.json|(runs|notify|audit.*)\.jsonl)/

for (const version of versions) {
  test(`${version.name}: its package is installed, and its service begins`, async () => {
    if (existsSync('/usr/lib/benchd')) {
      await systemctl('stop', 'benchd')
      await dpkg('--purge', 'benchd')
    }
    empty(state)
    await dpkg('--install', `/project/packages/old/${version.name}-${version.commit}.deb`)
    assert.equal(installedVersion(), `install ok installed ${version.version}`)
    assert.equal(await answering(), version.version)
  })

  for (const scene of scenes(version)) {
    if (version.run_state === 1 && scene !== 'idle') {
      test(`${version.name}, ${scene}: the package refuses, says what to do, and changes nothing`, () => isRefused(version, scene))
    } else {
      test(`${version.name}, ${scene}: it goes on, and after a roll-back the old version does`, () => isTakenBack(version, scene))
    }
  }

  test(`${version.name}: upgraded for good, it goes on where the old version's service was`, async () => {
    assert.equal(await answering(), version.version)
    const before = await runs()
    await dpkg('--install', nextPackage)
    assert.equal(await answering(), next)
    assert.ok(!existsSync(`${cache}/upgrading`))
    assert.deepEqual(await runs(), before)
    await isWhole()
  })
}

test('`benchd update` to a version whose service breaks off is undone, as if it had not been, and says so', async () => {
  const before = await runs()
  const undone = new RegExp(`\\+broken was not installed; benchd ${next.replaceAll(/[.+]/g, '\\$&')} is as it was; the service is ok`)
  await assert.rejects(benchd('update', brokenPackage, '--downgrade'), { code: 1, stdout: undone })
  assert.equal(installedVersion(), `install ok installed ${next}`)
  assert.equal(await answering(), next)
  assert.deepEqual(await runs(), before)
  assert.ok(!existsSync(`${cache}/upgrading`))
  assert.equal(execFileSync('dpkg', ['--audit'], { encoding: 'utf8' }), '')
})

async function isRefused({ name, version }: Version, scene: string): Promise<void> {
  await layOut(name, scene)
  const before = sumsOf(state, config, cache, '/usr/lib/benchd')
  const [id] = readdirSync(`${state}/executions`).map((file) => file.slice(0, -'.jsonl'.length))
  const refusal = `a run of version 0\\.1\\.0 or 0\\.2\\.0 is open or paused.*:\\n {2}work \\(${id}\\)\\n.*finish the run \\(benchd runs resume ID\\)`
  await assert.rejects(dpkg('--install', nextPackage), new RegExp(refusal))
  assert.deepEqual(sumsOf(state, config, cache, '/usr/lib/benchd'), before)
  assert.equal(installedVersion(), `install ok installed ${version}`)
  await systemctl('start', 'benchd')
  assert.equal(await answering(), version)
  await systemctl('stop', 'benchd')
}

async function isTakenBack({ name, version, knows }: Version, scene: string): Promise<void> {
  await layOut(name, scene)
  const before = filesOf(state)
  await standIn()

  const upgrading = whatCame(install(nextPackage))
  await until('the new version answers', async () => upgrading.ended || (await versionOf()) === next, patience_ms)
  assert.equal(upgrading.ended, undefined, upgrading.ended)
  const work = (await runs()).find(({ workflow_name }) => workflow_name === 'work')
  if (scene === 'idle') assert.equal(work?.status, 'COMPLETED')
  else assert.deepEqual([work?.status, work?.paused?.reason], ['IN_PROGRESS', 'system'])
  await isWhole(scene === 'idle' ? 26 : 6)
  const key = (await benchd('key', 'create', '--name', 'phone', '--scope', 'read')).stdout.trim()
  assert.equal(await statusFor(key), 200)
  // The service breaks off while dpkg looks whether it stays.
  takeSnapshotAtStart()
  process.kill(Number(property('MainPID')), 'SIGKILL')
  writeFileSync(asked, '')
  await until('dpkg has ended', () => upgrading.ended, patience_ms)
  assert.match(upgrading.ended ?? '', /the new version does not become healthy/)

  await until('the roll-back has ended', () => /^(inactive|failed)$/.test(property('ActiveState', 'benchd-roll-back')), 2 * patience_ms)
  const said = lastSaid('benchd-roll-back')
  assert.match(said, new RegExp(`version ${version} runs, and answers on its health route`))
  assert.equal(installedVersion(), `install ok installed ${version}`)
  const after = filesOf(snapshot)
  for (const [path, bytes] of before) if (!stays.test(path)) assert.ok(after.get(path)?.equals(bytes), `${path} is as it was`)
  const most = Math.max(...Object.values(knows))
  for (const [path, bytes] of after)
    if (/\.jsonl?$/.test(path))
      assert.ok(formatIn(path, bytes) <= (knows[path.replace(/\d{6}/, '000001')] ?? most), `the old version knows the format of ${path}`)

  assert.equal(await answering(), version)
  const open = (await runs()).find(({ workflow_name }) => workflow_name === 'work')
  assert.equal(open?.status, work?.status)
  assert.equal(await statusFor(key), 200, 'a key that was made meanwhile')
  rmSync(dropIns, { recursive: true })
}

/** The service has no damage to tell of, and everything that was taught. */
async function isWhole(points?: number): Promise<void> {
  const { teachpoints } = await service<{ teachpoints: unknown[] }>('GET', '/api/teachpoints?device_id=arm-1')
  if (points !== undefined) assert.equal(teachpoints.length, points)
  const { incidents } = await service<{ incidents: { message: string }[] }>('GET', '/api/incidents')
  assert.deepEqual(
    incidents.filter(({ message }) => /damaged|cannot be taken up/.test(message)),
    [],
  )
  assert.deepEqual(
    [...filesOf(state).keys()].filter((path) => path.includes('.corrupt-')),
    [],
  )
  const { labware } = await service<{ labware: { name: string; position: string }[] }>('GET', '/api/labware')
  assert.equal(labware.find(({ name }) => name === 'rest')?.position, 'pad_4')
}

/** Puts the data folder of that version in its place, with its configuration; no service runs then. */
async function layOut(name: string, scene: string): Promise<void> {
  await systemctl('stop', 'benchd')
  for (const folder of [state, config, cache, '/var/backups/benchd']) empty(folder)
  execFileSync('tar', ['-C', config, '--no-same-owner', '-xzf', `${upgrades}/data/${name}-${scene}.tar.gz`])
  const path = `${config}/config.json`
  const written = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...written, listen: { host: '127.0.0.1', port: 8520 } }))
  execFileSync('sh', ['-c', `mv ${config}/state/* ${state}/ && rmdir ${config}/state && chown -R benchd:benchd ${state}`])
  rmSync(asked, { force: true })
}

/** To systemd the old version's service runs, and what it has left stays as it is: nothing is served. */
async function standIn(): Promise<void> {
  dropIn('stand-in', 'Type=simple\nExecStart=\nExecStart=/bin/sleep infinity\nExecStopPost=\n', `ExecStopPost=+/bin/rm -r ${dropIns}`)
  await systemctl('daemon-reload')
  await systemctl('start', 'benchd')
}

function takeSnapshotAtStart(): void {
  dropIn('snapshot', `ExecStartPre=+/bin/sh -c '[ -e ${snapshot}-was ] || cp -a ${state} ${snapshot}; touch ${snapshot}-was'`)
  for (const path of [snapshot, `${snapshot}-was`]) rmSync(path, { recursive: true, force: true })
}

function dropIn(name: string, ...lines: string[]): void {
  mkdirSync(dropIns, { recursive: true })
  writeFileSync(`${dropIns}/${name}.conf`, `[Service]\n${lines.join('\n')}\nWatchdogSec=0\n`)
}

/** The package's own script waits for five seconds and looks whether the service still runs: here it waits until everything was asked. */
function install(path: string): Promise<string> {
  mkdirSync('/root/bin', { recursive: true })
  writeFileSync('/root/bin/sleep', `#!/bin/sh\nuntil [ -e ${asked} ]; do /bin/sleep 0.1; done\n`, { mode: 0o755 })
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', PATH: `/root/bin:${process.env.PATH}` }
  return run('dpkg', ['--install', path], { env }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
}

/** `ended` is undefined until it has come to something. */
function whatCame(work: Promise<string>): { ended: string | undefined } {
  const came: { ended: string | undefined } = { ended: undefined }
  void work.then((said) => {
    came.ended = said
  })
  return came
}

async function runs(): Promise<Run[]> {
  const { executions } = await service<{ executions: Run[] }>('GET', '/api/executions')
  return executions.map(({ execution_id, workflow_name, status, paused }) => ({
    ...{ execution_id, workflow_name, status },
    paused: paused && { reason: paused.reason },
  }))
}

/** Undefined where nobody answers. */
async function versionOf(): Promise<string | undefined> {
  const health = await service<{ status: string; version: string }>('GET', '/health').catch(() => undefined)
  return health && ['ok', 'degraded'].includes(health.status) ? health.version : undefined
}

async function answering(): Promise<string | undefined> {
  await until('it answers', versionOf, patience_ms)
  return versionOf()
}

async function statusFor(key: string): Promise<number> {
  return (await fetch('http://127.0.0.1:8520/api/devices', { headers: { 'X-API-Key': key } })).status
}

function lastSaid(unit: string): string {
  const id = property('InvocationID', unit)
  return execFileSync('journalctl', [`_SYSTEMD_INVOCATION_ID=${id}`, '--output', 'cat', '--no-pager'], { encoding: 'utf8' })
}

/** Reads the files of a folder, by their paths in it. Leaves out a file that a running service removes or renames after it was listed. */
function filesOf(folder: string): Map<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = files.map(({ parentPath, name }) => `${parentPath}/${name}`).sort()
  return new Map(paths.flatMap((path) => bytesOf(path).map((bytes) => [path.slice(folder.length + 1), bytes] as const)))
}

/** Returns the bytes of a file in a list, which is empty for a file that is no longer there. */
function bytesOf(path: string): [Buffer] | [] {
  try {
    return [readFileSync(path)]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function formatIn(path: string, bytes: Buffer): number {
  return path.endsWith('.jsonl') ? formatOf(bytes.toString()) : Number(/"format": *(\d+)/.exec(bytes.toString())?.[1] ?? 1)
}

function sumsOf(...folders: string[]): Map<string, string> {
  const files = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => [...filesOf(folder)].map(([path, bytes]) => [`${folder}/${path}`, bytes] as const))
  return new Map(files.map(([path, bytes]) => [path, createHash('sha256').update(bytes).digest('hex')]))
}

function empty(folder: string): void {
  if (existsSync(folder)) for (const name of readdirSync(folder)) rmSync(`${folder}/${name}`, { recursive: true })
}

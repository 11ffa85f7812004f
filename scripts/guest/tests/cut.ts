// An upgrade that the power is cut off in, twice, on one disk. `cut.js install` installs the package, in a container. It is called again each time
// that the guest is started: `cut.js 1` cuts the first upgrade, `cut.js 2` looks at what is left of it and cuts the next one later, `cut.js 3`
// looks again.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import {
  dpkg,
  firstPackage,
  installedVersion,
  journal,
  nextPackage,
  processes,
  property,
  service,
  systemctl,
  version,
} from './service_unit.ts'
import { until } from './waiting.ts'

const slow_ms = 240_000

const log = '/var/log/dpkg.log'
/** Each resolves when an upgrade has come so far, as its files show. The kernel reports changes of the files, because a loop that reads them would slow dpkg down. */
const moments = {
  // dpkg lays all new files beside the old ones, then renames one after the other.
  'some of its files are new': () => {
    const path = oneOfItsFiles()
    const before = lstatSync(path).ino
    return changed(path, () => lstatSync(path).ino !== before)
  },
  'the new version is being tried': async () => {
    await changed(log, () => /half-configured benchd:\w+ .*\+next/.test(readFileSync(log, 'utf8')))
    await until('it has a process', () => processes().length > 0, slow_ms, 20)
  },
}

const round = process.argv[2]
if (round === 'install') {
  mkdirSync('/etc/benchd')
  writeFileSync('/etc/benchd/config.json', JSON.stringify({ format: 1, devices: [{ device_id: 'arm-1', driver: 'external' }] }))
  await dpkg('--install', firstPackage)
  await service('POST', '/api/teachpoints', {
    device_id: 'arm-1',
    name: 'home',
    coord_type: 'cartesian',
    coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 },
  })
  await systemctl('stop', 'benchd')
  execFileSync('sync')
} else if (round === '1') {
  await systemctl('start', 'benchd')
  execFileSync('sync')
  await cutWhen('some of its files are new')
} else {
  await isMended()
  console.log(`after cut ${Number(round) - 1}: ${installedVersion()}, the service is up`)
  if (round === '2') {
    execFileSync('sync')
    await cutWhen('the new version is being tried')
  }
}

/** As a hand on the plug: nothing that is not on the disk gets there. */
async function cutWhen(moment: keyof typeof moments): Promise<never> {
  writeFileSync(log, '')
  const hasCome = moments[moment]()
  const upgrade = spawn('dpkg', ['--install', nextPackage], { stdio: 'inherit' })
  upgrade.once('exit', (code) => console.log(`dpkg had ended with ${code} before the power was cut`))
  await hasCome
  // The moment stays while this says what it has found.
  upgrade.kill('SIGSTOP')
  console.log(`CUT when ${moment}, ${newFiles()} of them still beside the old: ${installedVersion()}`)
  // What is said so far gets out to the host first.
  await new Promise((resolve) => process.stdout.write('', resolve))
  writeFileSync('/proc/sysrq-trigger', 'b')
  return new Promise(() => {})
}

async function isMended(): Promise<void> {
  // Both are begun by the start of the machine; this waits until they are through.
  await systemctl('start', 'benchd-roll-back')
  await until('the service is up', () => property('ActiveState') === 'active', slow_ms)
  console.log(journal('benchd-roll-back.service'))
  assert.equal(execFileSync('dpkg', ['--audit'], { encoding: 'utf8' }), '')
  assert.equal(execFileSync('dpkg', ['--verify', 'benchd'], { encoding: 'utf8' }).replace(/.*\/usr\/share\/doc\/.*\n/g, ''), '')
  assert.equal(installedVersion(), `install ok installed ${version}`)
  assert.ok(!existsSync('/var/cache/benchd/upgrading'))
  const health = await service<{ status: string; version: string }>('GET', '/health')
  assert.deepEqual([health.status, health.version], ['ok', version])
  const { teachpoints } = await service<{ teachpoints: { name: string }[] }>('GET', '/api/teachpoints?device_id=arm-1')
  assert.deepEqual(
    teachpoints.map(({ name }) => name),
    ['home'],
  )
}

function newFiles(): number {
  return readdirSync('/usr/lib/benchd', { recursive: true }).filter((path) => String(path).endsWith('.dpkg-new')).length
}

/** The file that is renamed when a third of them are. */
function oneOfItsFiles(): string {
  const paths = execFileSync('dpkg-query', ['--listfiles', 'benchd'], { encoding: 'utf8' }).split('\n')
  const files = paths.filter((path) => path.startsWith('/usr/lib/benchd/') && lstatSync(path).isFile())
  return files[Math.floor(files.length / 3)]!
}

/** Resolves when something happened to that file and `holds`. */
function changed(path: string, holds: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const watcher = watch(path, () => {
      try {
        if (!holds()) return
        watcher.close()
        resolve()
      } catch (error) {
        reject(error as Error)
      }
    })
  })
}

// `benchd update FILE.deb`: copies the package, verifies the copy, makes a backup, installs the copy, and reports the outcome. The
// package's own scripts supervise the upgrade and undo it if the new service is not healthy.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { messageOf } from '../errors.ts'
import { copyOf } from '../kit/copied_file.ts'
import { readText } from '../kit/files.ts'
import { exists, makeThrowAwayFolder, removeFolder } from '../kit/folder.ts'
import { installation } from '../kit/installation.ts'
import { sha256Of } from '../kit/tree.ts'
import { storeOf } from './backup.ts'
import { ask, type Service } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { publicKeyPath, signatureOf } from './package_signature.ts'
import { dataDir } from './places.ts'
import { note, say } from './terminal.ts'

const packageName = 'benchd'
/** The file that marks an upgrade under way. */
const upgrading = '/var/cache/benchd/upgrading'
/** The most bytes of a package, ten times its usual size. */
const longest = 128 * 1024 * 1024
const stop_ms = 600_000
const look_ms = 500

const update = command({
  name: 'update',
  aliases: ['upgrade'],
  summary: 'Install another version from a package file; roll back if it does not become healthy',
  operands: ['FILE.deb'],
  options: {
    downgrade: { type: 'boolean', help: 'Allow an older version than the installed one' },
    'public-key': {
      type: 'string',
      value: 'FILE',
      help: `Public key of minisign or gpg that the package must be signed with; default ${publicKeyPath}, if it exists`,
    },
  },
  example: 'sudo benchd update /media/stick/benchd_0.3.0_arm64.deb',
  async run({ options, operands: [file = ''] }) {
    const path = resolve(file)
    // Installs the verified copy, because the file on a stick may be changed or removed meanwhile.
    const folder = await makeThrowAwayFolder('benchd-update')
    const copy = join(folder, 'update.deb')
    try {
      await copyOf(path, copy, longest)
      return await updated({ path, copy, folder }, options)
    } finally {
      await removeFolder(folder)
    }
  },
})

export const commands = [update]

type Package = { path: string; copy: string; folder: string }
type UpdateOptions = { downgrade?: boolean | undefined; 'public-key'?: string | undefined; json?: boolean | undefined }

async function updated({ path, copy, folder }: Package, options: UpdateOptions): Promise<number> {
  const offered = await packageIn(path, copy)
  const present = await installedVersion()
  mustFit(path, offered, await machineArchitecture())
  const sha256 = await sha256Of(copy)
  note(`SHA-256 of ${path}: ${sha256}`)
  const isSameVersion = offered.version === present
  if (isSameVersion && (await isInstalled(copy)))
    return say({ success: true, message: `this build of benchd ${present} is installed already` }, options.json)
  if ((await isOlder(offered.version, present)) && !options.downgrade)
    throw new CliError(
      'busy',
      `${path} is version ${offered.version}, older than ${present}, which is installed; to have it all the same: --downgrade`,
    )
  await mustBeListed(path, sha256)
  await mustBeWhole(path, copy)
  const keyPath = options['public-key'] ?? publicKeyPath
  note(
    (await signatureOf(path, copy, folder, keyPath)) ??
      `whose it is was not checked: there is no public key in ${keyPath}; is the SHA-256 the one that its maker names?`,
  )
  mustBeRoot()
  const service = { socket_of: dataDir(undefined) }
  await mustBeIdle(service)
  const made = await (await storeOf({ 'data-dir': service.socket_of })).make({ with_keys: false, with_events: false })
  note(`the state is in backup ${made.name}`)
  await install(copy, { isDowngrade: options.downgrade ?? false, isSameVersion })
  return say(await outcome(service, { copy, wanted: offered.version, before: present }), options.json)
}

const run = promisify(execFile)

/** Checks the package against a list of hashes beside it, if one names it. */
async function mustBeListed(path: string, sha256: string | undefined): Promise<void> {
  const list = join(dirname(path), 'SHA256SUMS')
  const text = await readText(list).catch(() => '')
  const line = text.split('\n').find((one) => one.slice(64).replace(/^ [ *]/, '') === basename(path))
  if (line !== undefined && line.slice(0, 64) !== sha256)
    throw new CliError('failed', `${path} is not what ${list} names: it is damaged, or another one; copy it again`)
}

type Offered = { name: string; version: string; architecture: string }

async function packageIn(path: string, copy: string): Promise<Offered> {
  const fields = await said('dpkg-deb', [...showing('Package', 'Version', 'Architecture'), copy], `${path} is no Debian package`)
  const [name = '', version = '', architecture = ''] = fields.split('\n')
  return { name, version, architecture }
}

async function installedVersion(): Promise<string> {
  const what = `benchd was not installed as a package here, so a package cannot take its place; for another version: ${installation().newer}`
  const [status, version = ''] = (await said('dpkg-query', [...showing('db:Status-Status', 'Version'), packageName], what)).split('\n')
  if (status !== 'installed') throw new CliError('not_found', what)
  return version
}

/** The parts by which two builds of one version differ: the hashes of all files, and the scripts. */
const partsOfBuild = ['md5sums', 'preinst', 'postinst', 'prerm', 'postrm']

/** Whether this build is installed. A missing part counts as empty. */
async function isInstalled(copy: string): Promise<boolean> {
  const textOf = (program: string, ...words: string[]) =>
    run(program, words, { encoding: 'utf8' }).then(
      ({ stdout }) => stdout,
      () => '',
    )
  for (const part of partsOfBuild) {
    const [offered, present] = await Promise.all([
      textOf('dpkg-deb', '--info', copy, part),
      textOf('dpkg-query', '--control-show', packageName, part),
    ])
    if (offered !== present) return false
  }
  return true
}

function machineArchitecture(): Promise<string> {
  return said('dpkg', ['--print-architecture'], 'dpkg does not tell the architecture of this computer')
}

function mustFit(path: string, { name, architecture }: Offered, wanted: string): void {
  if (name !== packageName) throw new CliError('usage', `${path} is the package ${name}, not ${packageName}`)
  if (architecture !== wanted && architecture !== 'all')
    throw new CliError('usage', `${path} is for ${architecture}, and this computer is ${wanted}: take the package for that`)
}

async function isOlder(version: string, than: string): Promise<boolean> {
  return run('dpkg', ['--compare-versions', version, 'lt', than]).then(
    () => true,
    () => false,
  )
}

/** Unpacks the package to nowhere, to detect a damaged copy before the service is ended. */
async function mustBeWhole(path: string, copy: string): Promise<void> {
  const child = spawn('dpkg-deb', ['--fsys-tarfile', copy], { stdio: 'ignore' })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new CliError('failed', `${path} is damaged; copy it again`)
}

function mustBeRoot(): void {
  if (process.geteuid?.() !== 0) throw new CliError('not_allowed', 'only root may install a package: sudo benchd update …')
}

/** Refuses as the package's scripts do, but before any change. */
async function mustBeIdle(service: Service): Promise<void> {
  if (process.env.BENCHD_FORCE_UPGRADE === '1') return
  const running = await whatRuns(service)
  if (running.length === 0) return
  throw new CliError(
    'busy',
    `not now, because of what runs: ${running.join(', ')}; wait for it, or pause it; or all the same: sudo BENCHD_FORCE_UPGRADE=1 benchd update …`,
  )
}

type Execution = { execution_id: string; workflow_name: string; status: string; paused: object | null }
type Device = { device_id: string; state: string; operation: { name: string } | null }

async function whatRuns(service: Service): Promise<string[]> {
  try {
    const { executions } = await ask<{ executions: Execution[] }>(service, 'GET', '/api/executions')
    const { devices } = await ask<{ devices: { device_id: string }[] }>(service, 'GET', '/api/devices')
    const infos = await Promise.all(devices.map(({ device_id }) => ask<Device>(service, 'GET', `/api/devices/${device_id}`)))
    return [
      ...executions
        .filter(({ status, paused }) => status === 'IN_PROGRESS' && paused === null)
        .map(({ workflow_name }) => `${workflow_name} runs`),
      ...infos.filter(({ state }) => state === 'busy').map(({ device_id, operation }) => `${device_id} is busy: ${operation?.name}`),
    ]
  } catch (error) {
    if (error instanceof CliError && error.exit === 'unreachable') return []
    throw error
  }
}

/**
 * Installs with apt, which also installs dependencies, or with dpkg without apt. Never throws: the caller checks the outcome
 * afterwards.
 */
async function install(copy: string, { isDowngrade, isSameVersion }: { isDowngrade: boolean; isSameVersion: boolean }): Promise<void> {
  const [program, words] = exists('/usr/bin/apt-get')
    ? ([
        'apt-get',
        [
          'install',
          '--yes',
          '--no-remove',
          '-o',
          'Dpkg::Options::=--force-confold',
          ...(isDowngrade ? ['--allow-downgrades'] : []),
          ...(isSameVersion ? ['--reinstall'] : []),
          copy,
        ],
      ] as const)
    : (['dpkg', ['--install', '--force-confold', copy]] as const)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
  // stdout is reserved for the outcome.
  const child = spawn(program, words, { stdio: ['ignore', process.stderr, process.stderr], env })
  const [code] = await once(child, 'close')
  if (code !== 0) note(`${program} ended with ${code}`)
}

type Installing = { copy: string; wanted: string; before: string }

/** Waits for the end of a roll-back, which continues after dpkg has ended, and words the outcome. */
async function outcome(service: Service, { copy, wanted, before }: Installing): Promise<{ success: boolean; message: string }> {
  for (const from = performance.now(); exists(upgrading) && performance.now() - from < stop_ms; ) await sleep(look_ms)
  const now = await installedVersion().catch((error) => messageOf(error))
  const health = await healthOf(service, now)
  if (now === wanted && (await isInstalled(copy))) return { success: true, message: `benchd ${wanted} is installed; ${health}` }
  const why = now === before ? `benchd ${before} is as it was` : `benchd is now: ${now}`
  return {
    success: false,
    message: `benchd ${wanted} was not installed; ${why}; ${health}; see: benchd logs, and journalctl -u benchd-roll-back`,
  }
}

async function healthOf(service: Service, version: string): Promise<string> {
  for (const from = performance.now(); ; await sleep(look_ms)) {
    const health = await ask<{ status: string; reasons: string[]; version: string }>(service, 'GET', '/health').catch(() => undefined)
    const isUp = health?.version === version && ['ok', 'degraded'].includes(health.status)
    if (health && isUp) return `the service is ${[health.status, ...health.reasons].join(', ')}`
    if (performance.now() - from > 60_000) return 'the service does not answer: sudo systemctl status benchd'
  }
}

/** Returns the dpkg format that prints fields of a package, a line each. */
function showing(...fields: string[]): string[] {
  return ['--show', '--showformat', fields.map((field) => `\${${field}}`).join('\\n')]
}

async function said(program: string, words: readonly string[], otherwise: string): Promise<string> {
  return run(program, words, { encoding: 'utf8' }).then(
    ({ stdout }) => stdout.trim(),
    (error) => {
      throw new CliError('failed', otherwise, { cause: error })
    },
  )
}

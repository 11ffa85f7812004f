// The installed service as an administrator sees it: its package, its unit, its socket.

import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { ask } from '../../../src/cli/client.ts'
import { until } from './waiting.ts'

const run = promisify(execFile)
const packages = '/project/packages'

export const firstPackage = packageCalled(/^benchd_[\d.]+_/)
export const nextPackage = packageCalled(/^benchd_.*\+next_/)
export const brokenPackage = packageCalled(/^benchd_.*\+broken_/)
export const coordinatorPackage = packageCalled(/^benchd-lab_/)
export const version = /_([\d.]+)_/.exec(firstPackage)![1]!

/** Answers all that it says; rejects with that. */
export async function dpkg(...words: string[]): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' }
  const { stdout, stderr } = await run('dpkg', words, { env }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${error.stdout}${error.stderr}`)
  })
  return stdout + stderr
}

/** `install ok installed 0.1.0`. */
export function installedVersion(): string {
  const fields = ['Status', 'Version'].map((name) => `\${${name}}`).join(' ')
  return execFileSync('dpkg-query', ['--show', '--showformat', fields, 'benchd'], { encoding: 'utf8' })
}

export async function systemctl(...words: string[]): Promise<void> {
  await run('systemctl', words)
}

export function property(name: string, unit = 'benchd.service'): string {
  return execFileSync('systemctl', ['show', '--value', '--property', name, unit], { encoding: 'utf8' }).trim()
}

export function journal(unit = 'benchd.service'): string {
  return execFileSync('journalctl', ['--unit', unit, '--output', 'cat', '--no-pager'], { encoding: 'utf8' })
}

export function benchd(...words: string[]): Promise<{ stdout: string; stderr: string }> {
  return run('/usr/bin/benchd', words)
}

/** Runs a line of a guide in that folder, and returns all that it says. A command of root needs no sudo. */
export async function typed(line: string, cwd = '/root'): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', USER: 'root' }
  const { stdout, stderr } = await run('bash', ['-c', `sudo() { "$@"; }\n${line}`], { cwd, env }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${line}\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout + stderr
}

/** One request over the socket for the group. */
export function service<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  return ask<Answer>({ socket_of: '/run/benchd' }, method, path, body)
}

/** The processes in the control group of a unit: the kernel tells them sooner than systemd. A unit that does not run has none. */
export function processes(unit = 'benchd.service'): string[] {
  const [, template] = /^(.*)@.*\.service$/.exec(unit) ?? []
  const slice = template ? `system.slice/system-${template.replaceAll('-', '\\x2d')}.slice` : 'system.slice'
  try {
    return readFileSync(`/sys/fs/cgroup/${slice}/${unit}/cgroup.procs`, 'utf8').split('\n').filter(Boolean)
  } catch (error) {
    if (['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

/** Resolves when another process than `pid` serves, with the milliseconds that it took. */
export function whenBack(pid: string): Promise<number> {
  const isBack = async () =>
    !processes().includes(pid) && (await answers()) && property('MainPID') !== pid && property('ActiveState') === 'active'
  return until('the service is back', isBack, 240_000)
}

async function answers(): Promise<boolean> {
  return service('GET', '/health').then(
    () => true,
    () => false,
  )
}

function packageCalled(pattern: RegExp): string {
  const name = readdirSync(packages).find((one) => pattern.test(one))
  if (!name) throw new Error(`there is no package like ${pattern} in ${packages}`)
  return `${packages}/${name}`
}

// A PostgreSQL server in a folder of its own, for demos and tests. It listens only on a socket in that folder, and ends with the command.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../cli/exit.ts'
import { exists, makeThrowAwayFolder, newestIn, ownedBy, removeFolder } from '../kit/folder.ts'

export type LocalPostgres = {
  /** The URL for a client on this computer. */
  url: string
  readonly pid: number | undefined
  kill(): Promise<void>
  start(): Promise<void>
  /** Ends the server, and removes its folder. */
  close(): Promise<void>
}

/** The folder in which Debian puts the programs of each version, which are on no path. */
const debianFolder = '/usr/lib/postgresql'
/** PostgreSQL refuses to run as root. */
const nobody = { uid: 65_534, gid: 65_534 }
const startsWithin_ms = 60_000
const again_ms = 50

export async function startPostgres(): Promise<LocalPostgres> {
  const folder = await makeThrowAwayFolder('benchd-postgres')
  const user = process.geteuid?.() === 0 ? nobody : undefined
  if (user) await ownedBy(folder, user)
  const run = (program: string, args: readonly string[]) =>
    spawn(programOf(program), args, {
      ...user,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    })
  const data = `${folder}/data`
  try {
    await done(run('initdb', ['-D', data, '-U', 'benchd', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']))
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
  let server: ChildProcess | undefined
  const isRunning = () => server !== undefined && server.exitCode === null && server.signalCode === null
  const start = async () => {
    server = run('postgres', ['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'shared_buffers=16MB'])
    server.stderr?.resume()
    const until = Date.now() + startsWithin_ms
    while (!exists(`${folder}/.s.PGSQL.5432`) && isRunning() && Date.now() < until) await sleep(again_ms)
  }
  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    if (!server || !isRunning()) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
  await start()
  return {
    url: `postgresql://benchd@localhost/postgres?host=${encodeURIComponent(folder)}`,
    get pid() {
      return server?.pid
    },
    start,
    kill: () => kill(),
    async close() {
      // SIGINT ends the server without waiting for its clients.
      await kill('SIGINT')
      await removeFolder(folder)
    },
  }
}

async function done(child: ChildProcess): Promise<void> {
  const said = text(child.stderr!)
  const failed = once(child, 'error').then(([error]) => Promise.reject(error as Error))
  failed.catch(() => undefined)
  const [code] = (await Promise.race([once(child, 'close'), failed])) as [number | null]
  if (code !== 0) throw new CliError('failed', `initdb of PostgreSQL failed: ${(await said).trim().split('\n').at(-1)}`)
}

function programOf(name: string): string {
  const version = newestIn(debianFolder)
  const inDebian = `${debianFolder}/${version}/bin/${name}`
  if (version !== undefined && exists(inDebian)) return inDebian
  const onPath = (process.env.PATH ?? '').split(':').find((folder) => exists(`${folder}/${name}`))
  if (onPath !== undefined) return `${onPath}/${name}`
  throw new CliError('failed', `this needs PostgreSQL, whose program ${name} is not installed here: sudo apt install postgresql`)
}

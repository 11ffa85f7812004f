// The data folder: its owner, its room, its speed, and the integrity of its files.

import { join } from 'node:path'
import { messageOf } from '../../errors.ts'
import { verifyLog } from '../../events/log_verify.ts'
import { namesIn } from '../../kit/files.ts'
import { readBytes, statusOf } from '../../kit/host_files.ts'
import { damageOf } from '../../kit/json_file.ts'
import { levelOf, roomInWords } from '../host.ts'
import { type Finding, finder } from './finding.ts'
import { isTriedAs, type Patient, rightsInWords, userName } from './patient.ts'

/** The milliseconds of a synced write that count as slow. Each teachpoint and each fault waits for about two. */
const slow_ms = 250

export async function storage(patient: Patient): Promise<Finding[]> {
  const { data_dir, files, as, service } = patient
  const { ok, warn, fail, skip } = finder('storage')
  const folder = await statusOf(data_dir)
  if (!folder) {
    if (service.is !== 'absent') return [fail(`the service runs, but ${data_dir} is not there`, 'name its folder with --data-dir')]
    return [skip(`${data_dir} is not there, or you may not look into what it is in; the service makes it at its first start`)]
  }
  const owner =
    folder.uid === as.uid
      ? []
      : [fail(`${data_dir} belongs to ${await userName(files, folder.uid)}, not to ${as.name}`, `sudo chown -R ${as.name}: ${data_dir}`)]
  const mode =
    (folder.mode & 0o077) === 0
      ? []
      : [warn(`${data_dir} can be read by others (${await rightsInWords(files, folder)})`, `sudo chmod 700 ${data_dir}`)]
  return [...owner, ...mode, await room(patient), ...(await speed(data_dir)), ...(await wholeness(data_dir, folder.uid))]

  async function speed(path: string): Promise<Finding[]> {
    try {
      const took = Math.round(await patient.sync(path))
      if (took < slow_ms) return [ok(`${path} can be written, fsync ${took} ms`)]
      return [warn(`${path} takes ${took} ms to keep one block (fsync)`, 'the card is slow or worn out: try another one, of class A2')]
    } catch (error) {
      if (isTriedAs(as))
        return [
          fail(`${path} cannot be written: ${messageOf(error)}`, 'see that the disk is not full, and mounted so that it can be written'),
        ]
      return [skip(`${path} is closed to you, so its files are not looked at`, 'sudo benchd doctor')]
    }
  }
}

async function room({ data_dir, room: roomOn }: Patient): Promise<Finding> {
  const { ok, warn, fail } = finder('storage')
  const found = await roomOn(data_dir)
  const words = `${data_dir} has ${roomInWords(found)} free`
  const fix = 'free some space: sudo journalctl --vacuum-size=100M, sudo apt clean; delete old executions: benchd runs list'
  const level = levelOf(found)
  return level === 'enough' ? ok(words) : (level === 'scarce' ? warn : fail)(words, fix)
}

/** Checks the JSON files in the folder, and names those that were set aside as damaged. */
async function wholeness(data_dir: string, uid: number): Promise<Finding[]> {
  const { ok, warn, fail, skip } = finder('storage')
  const names = await namesIn(data_dir).catch(() => undefined)
  if (!names) return []
  const documents = names.filter((name) => name.endsWith('.json'))
  const damages = await Promise.all(documents.map(async (name) => ({ name, why: await damage(join(data_dir, name), uid) })))
  const broken = damages.flatMap(({ name, why }) => {
    if (why === undefined) return []
    if (typeof why === 'string') return [fail(`${name} is damaged: ${why}`, mending(name, names))]
    return isClosed(why)
      ? []
      : [warn(`${name} is no file that can be read: ${messageOf(why)}`, `see what it is: ls -l ${join(data_dir, name)}`)]
  })
  const closed = damages.filter(({ why }) => isClosed(why)).map(({ name }) => name)
  const aside = names.filter((name) => name.includes('.corrupt-'))
  const setAside = aside.map((name) =>
    warn(`${name} was set aside because it was damaged`, `look what is missing, then: sudo rm ${join(data_dir, name)}`),
  )
  const unread = closed.length ? [skip(`you may not read ${closed.join(', ')}`, 'sudo benchd doctor')] : []
  const whole = documents.length - closed.length
  return [
    ...broken,
    ...unread,
    ...(broken.length || (whole === 0 && closed.length)
      ? []
      : [ok(whole === 1 ? '1 JSON file is whole' : `${whole} JSON files are whole`)]),
    ...setAside,
  ]
}

function mending(name: string, names: readonly string[]): string {
  if (names.includes(`${name}.bak`)) return `the service takes ${name}.bak at its next start`
  return `put a backup in its place: benchd restore FILE${name === 'keys.json' ? ' --with-keys' : ''}`
}

/** Returns the damage of a file, or an error that prevents reading, which is no damage. */
async function damage(path: string, uid: number): Promise<string | Error | undefined> {
  // Reading a pipe could block for ever.
  const found = await statusOf(path)
  if (found?.kind === 'device' || found?.kind === 'other') return new Error('it is a pipe, a socket or a device')
  // The sentence about damage quotes some of the content.
  if (found && found.uid !== uid) return new Error('it belongs to another user, or is a link to what does')
  const bytes = await readBytes(path).catch((error: Error) => error)
  return bytes instanceof Error ? bytes : damageOf(bytes)
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}

/** Checks the newest segment of the event log; `benchd events verify` reads all. */
export async function eventLog({ data_dir, service }: Patient): Promise<Finding> {
  const { ok, warn, skip } = finder('events')
  const folder = join(data_dir, 'events')
  if (!(await statusOf(folder))) return skip('there is no event log yet, or it is closed to you')
  const found = await verifyLog(folder, { newest_only: true }).catch((error) => {
    if (isClosed(error) || isClosed(error.cause)) return undefined
    throw error
  })
  if (!found) return skip('you may not read the event log', 'sudo benchd doctor')
  const { files, events, damaged } = found
  if (damaged.some(({ problem }) => problem.includes('EACCES'))) return skip('you may not read the event log', 'sudo benchd doctor')
  // A running service may be writing the end of the file; the next start cuts a torn end off.
  const rotten = damaged.filter(({ torn }) => !torn)
  if (rotten.length) {
    const fix = 'nothing else is lost; see all of it: benchd events verify. A card that does this is worn out'
    return warn(`${rotten.length} places of ${rotten[0]?.file} are damaged: ${rotten[0]?.problem}`, fix)
  }
  if (files === 0) return skip('there is no event log yet')
  return ok(
    `the newest segment is whole: ${events} events${damaged.length && service.is === 'absent' ? '; its torn end is cut off at the next start' : ''}`,
  )
}

export async function keys({ data_dir, service }: Patient): Promise<Finding> {
  const { ok, warn, skip } = finder('keys')
  const found =
    service.is === 'answering' ? (await service.get<{ keys: Key[] }>('/api/keys')).keys : await keysIn(join(data_dir, 'keys.json'))
  if (found === 'closed') return skip('the keys cannot be read by you', 'sudo benchd doctor')
  if (found === 'damaged') return skip('keys.json cannot be read, so nobody knows which are valid: see storage above')
  const now = Date.now() / 1000
  const valid = found.filter(({ revoked_at, expires_at }) => revoked_at === null && (expires_at === null || expires_at > now))
  if (valid.length) return ok(`${valid.length} valid: ${valid.map(({ name, scope }) => `${name} (${scope})`).join(', ')}`)
  return warn(
    found.length ? 'none is valid any more' : 'none yet: nobody comes in over the network',
    'make one: benchd key create --name laptop --scope operate',
  )
}

type Key = { name: string; scope: string; revoked_at: number | null; expires_at: number | null }

async function keysIn(path: string): Promise<Key[] | 'closed' | 'damaged'> {
  try {
    return ((JSON.parse((await readBytes(path)).toString()) as { keys?: Key[] }).keys ?? []) satisfies Key[]
  } catch (error) {
    if (isClosed(error)) return 'closed'
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? [] : 'damaged'
  }
}

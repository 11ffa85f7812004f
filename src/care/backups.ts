// The backups in the data folder: one each day, and others on request. The newest seven of both kinds are kept.

import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { mustBeFolder } from '../kit/damage.ts'
import { described } from '../kit/described.ts'
import { namesIn } from '../kit/files.ts'
import { makePrivateFolder, removeFile } from '../kit/folder.ts'
import { roomOn } from '../kit/host_files.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import { bytesOf, sizeOf } from '../kit/tree.ts'
import type { BackupContents, Sources } from './backup.ts'
import { momentOf, stampOf } from './backup_files.ts'
import { levelOf, type Room } from './host.ts'

export const Backup = v.strictObject({
  name: v.string(),
  size: described(v.number(), 'In bytes', 'B'),
  made_at: described(v.number(), 'Unix time', 's'),
  is_daily: described(v.boolean(), 'Made by the service itself, once a day'),
  with_keys: v.boolean(),
  with_events: v.boolean(),
  with_files: v.boolean(),
})
export type Backup = v.InferOutput<typeof Backup>

export const MadeBackup = v.strictObject({
  ...Backup.entries,
  left_out: described(v.array(v.string()), 'The files that were left out, each with the reason'),
})
export type MadeBackup = v.InferOutput<typeof MadeBackup>

/** `keep: false` for a backup that is copied away and deleted at once, for which no older one is removed. */
export type Making = BackupContents & { keep?: boolean }

const pattern = /^(daily|asked)-(\d{8}T\d{6}Z)(-keys)?(-events)?(-files)?\.tar\.gz$/
const keptBackups = 7
const day_ms = 86_400_000
/** The delay after the start, so that a service that soon crashes packs nothing. */
const first_ms = 60_000
/** The delay after a failure, and while the clock seems wrong. */
const again_ms = 3_600_000
const mostWaiting = 4

type BackupsOptions = {
  sources: Sources
  log: Log
  report: Report
  clock?: Clock
  /** Unix milliseconds. */
  now?: () => number
  /** Returns the space of the file system of the data folder. */
  room?: () => Promise<Room>
}

export class Backups {
  readonly #sources: Sources
  readonly #folder: string
  readonly #log: Log
  readonly #report: Report
  readonly #clock: Clock
  readonly #now: () => number
  readonly #room: () => Promise<Room>
  readonly #queue = new SerialQueue(mostWaiting)
  #cancel = () => {}
  readonly #closing = new AbortController()
  #failed: string | undefined

  constructor({ sources, log, report, clock = systemClock, now = Date.now, room = () => roomOn(sources.data_dir) }: BackupsOptions) {
    this.#sources = sources
    this.#folder = `${sources.data_dir}/backups`
    this.#log = log
    this.#report = report
    this.#clock = clock
    this.#now = now
    this.#room = room
  }

  /** Makes the daily backup from now on: a day after the last one, or soon. Removes backups that a kill left incomplete. */
  async start(): Promise<void> {
    await mustBeFolder(this.#folder, this.#report)
    for (const name of (await namesIn(this.#folder)).filter((one) => one.endsWith('.tmp'))) await removeFile(`${this.#folder}/${name}`)
    await this.#plan(again_ms)
  }

  /** Says why the daily backup of today is missing; undefined if it is there. */
  get trouble(): string | undefined {
    return this.#failed
  }

  /** Lists the backups, the newest first. */
  async list(): Promise<Backup[]> {
    const found = await Promise.all((await namesIn(this.#folder)).map((name) => this.#backup(name)))
    return found.filter((backup) => backup !== undefined).sort((a, b) => b.made_at - a.made_at)
  }

  /** Finds a backup by its name. Rejects with `not_found`. */
  async get(wanted: string): Promise<Backup> {
    const backup = (await this.list()).find(({ name }) => name === wanted)
    if (!backup) throw new LabError('not_found', `there is no backup ${JSON.stringify(wanted)}; the list of backups tells which there are`)
    return backup
  }

  /** Yields the bytes of a backup. */
  read({ name }: Backup): AsyncGenerator<Uint8Array> {
    return bytesOf(`${this.#folder}/${name}`)
  }

  /** Makes a backup. Rejects with `storage`, also on a nearly full disk. */
  make({ keep = true, ...wanted }: Making): Promise<MadeBackup> {
    return this.#queue.run(() => this.#make('asked', wanted, keep))
  }

  /** Removes a backup. Rejects with `not_found`. */
  remove(name: string): Promise<void> {
    return this.#queue.run(async () => removeFile(`${this.#folder}/${(await this.get(name)).name}`))
  }

  /** Makes no more backups, and aborts the one under way. */
  async close(): Promise<void> {
    this.#closing.abort(new LabError('stopping', 'the service is stopping and makes no backup; ask again when it is back'))
    this.#cancel()
    await this.#queue.run(async () => {})
  }

  /** Schedules the next daily backup. If one has a time in the future, the clock was or is wrong, and a time server has `patience_ms` to set it. */
  async #plan(patience_ms: number): Promise<void> {
    const last = (await this.list()).find(({ is_daily }) => is_daily)
    const age_ms = last ? this.#now() - last.made_at * 1000 : day_ms
    if (age_ms < 0 && patience_ms > 0) this.#next(patience_ms, () => this.#plan(0).catch(() => this.#daily()))
    else this.#next(age_ms < 0 ? 0 : Math.max(first_ms, day_ms - age_ms))
  }

  #next(ms: number, then = () => this.#daily()): void {
    if (!this.#closing.signal.aborted) this.#cancel = this.#clock.after(ms, () => void then())
  }

  async #daily(): Promise<void> {
    try {
      const { name, size, left_out } = await this.#queue.run(() => this.#make('daily', { with_keys: false, with_events: false }))
      this.#failed = undefined
      this.#log.info(`backup ${name} is made, ${size} bytes`)
      if (left_out.length) this.#log.warn(`left out of backup ${name}: ${left_out.join('; ')}`)
    } catch (error) {
      if (this.#closing.signal.aborted) return
      const message = `the daily backup was not made: ${messageOf(error)}`
      if (message !== this.#failed) this.#report({ kind: 'storage', message })
      this.#failed = message
    }
    this.#next(this.#failed === undefined ? day_ms : again_ms)
  }

  async #make(why: 'daily' | 'asked', wanted: BackupContents, keep = true): Promise<MadeBackup> {
    this.#closing.signal.throwIfAborted()
    await this.#mustHaveRoom(wanted)
    await makePrivateFolder(this.#folder)
    const { name, at } = await this.#freeName(why, wanted)
    const { makeBackup } = await packer()
    const { left_out } = await makeBackup(this.#sources, wanted, { path: `${this.#folder}/${name}`, at, signal: this.#closing.signal })
    const backup = await this.get(name)
    if (keep) await this.#forgetOld(backup)
    return { ...backup, left_out }
  }

  /** Throws if the disk has no room for the unpacked size; the packed size is not known before. */
  async #mustHaveRoom(wanted: BackupContents): Promise<void> {
    const { sizeOfBackup } = await packer()
    const [room, bytes] = [await this.#room(), await sizeOfBackup(this.#sources, wanted)]
    if (levelOf({ ...room, free: room.free - bytes }) !== 'nearly none') return
    throw new LabError(
      'storage',
      `the disk has ${megabytes(room.free)} MB left, too little for a backup of ${megabytes(bytes)} MB: free some space`,
    )
  }

  /** Returns a name that is free, also for two backups in one second. */
  async #freeName(why: string, { with_keys, with_events, with_files }: BackupContents): Promise<{ name: string; at: Date }> {
    const taken = new Set((await namesIn(this.#folder)).map((name) => pattern.exec(name)?.[2]))
    let at = new Date(this.#now())
    while (taken.has(stampOf(at))) at = new Date(at.getTime() + 1000)
    return {
      name: `${why}-${stampOf(at)}${with_keys ? '-keys' : ''}${with_events ? '-events' : ''}${with_files ? '-files' : ''}.tar.gz`,
      at,
    }
  }

  /** Removes old backups, never the one that was just made. Those with a time in the future were made with a wrong clock, and are removed first. */
  async #forgetOld({ name: newest, is_daily, made_at }: Backup): Promise<void> {
    const others = (await this.list()).filter((backup) => backup.is_daily === is_daily && backup.name !== newest)
    const [before, ahead] = [others.filter((other) => other.made_at <= made_at), others.filter((other) => other.made_at > made_at)]
    for (const { name } of [...before, ...ahead].slice(keptBackups - 1)) await removeFile(`${this.#folder}/${name}`)
  }

  async #backup(name: string): Promise<Backup | undefined> {
    const [, why, stamp, keys, events, files] = pattern.exec(name) ?? []
    const size = stamp ? await sizeOf(`${this.#folder}/${name}`) : undefined
    if (!stamp || size === undefined) return undefined
    const contents = { with_keys: Boolean(keys), with_events: Boolean(events), with_files: Boolean(files) }
    return { name, size, made_at: momentOf(stamp), is_daily: why === 'daily', ...contents }
  }
}

/** Loads the packer when it is first needed. */
function packer(): Promise<typeof import('./backup.ts')> {
  return import('./backup.ts')
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1e6)
}

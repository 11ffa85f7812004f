// The pictures that are kept with incidents, in the folder `pictures/` of the state: the newest ones, within a number and a size.

import { join } from 'node:path'
import { LabError } from '../errors.ts'
import { createSynced, remove } from '../kit/durable.ts'
import { namesIn, readBytes } from '../kit/files.ts'
import { type PictureType, pictureTypes } from '../kit/picture_type.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import { sizeOf } from '../kit/tree.ts'
import type { Picture } from './picture.ts'

const most = { pictures: 100, bytes: 32 * 1024 * 1024, waiting: 16 } as const
const endings: Record<PictureType, string> = { 'image/jpeg': 'jpg', 'image/png': 'png', 'image/webp': 'webp' }
/** Milliseconds, incident and camera. */
const form = /^(\d{13})_([0-9a-f-]{36})_([\w-]{1,64})\.(jpg|png|webp)$/

type Kept = { incident_id: string; camera: string; bytes: number }
type Options = {
  folder: string
  /** Rejects with `storage` unless the disk has room for so many more bytes. */
  mustHaveRoom(bytes: number): Promise<void>
}

export class KeptPictures {
  readonly #options: Options
  readonly #queue = new SerialQueue(most.waiting)
  /** Keyed by file name, the oldest first. */
  readonly #kept = new Map<string, Kept>()

  /** Reads the names in the folder, and removes what a power cut has left of a picture. */
  static async open(options: Options): Promise<KeptPictures> {
    const pictures = new KeptPictures(options)
    for (const name of await namesIn(options.folder)) await pictures.#found(name)
    return pictures
  }

  private constructor(options: Options) {
    this.#options = options
  }

  /** The names of the cameras whose picture is kept with the incident. */
  of(incident_id: string): string[] {
    return [...this.#kept.values()].filter((one) => one.incident_id === incident_id).map(({ camera }) => camera)
  }

  /** Keeps a picture, and removes the oldest ones above the bounds. Rejects with `storage`, and with `overloaded` when many wait. */
  keep(incident_id: string, camera: string, { bytes, media_type, taken_at }: Picture): Promise<void> {
    return this.#queue.run(async () => {
      await this.#options.mustHaveRoom(bytes.length)
      const name = `${Math.round(taken_at * 1000)}_${incident_id}_${camera}.${endings[media_type]}`
      await createSynced(join(this.#options.folder, name), bytes, { mode: 0o600 })
      this.#kept.set(name, { incident_id, camera, bytes: bytes.length })
      await this.#shrink()
    })
  }

  /** Resolves with a picture of an incident. Rejects with `not_found`. */
  async read(incident_id: string, camera: string): Promise<Picture> {
    const found = [...this.#kept].findLast(([, one]) => one.incident_id === incident_id && one.camera === camera)
    if (!found) throw new LabError('not_found', `no picture of the camera ${camera.slice(0, 64)} is kept with this incident`)
    const [name] = found
    const [, taken_ms, , , ending] = form.exec(name) ?? []
    const bytes = new Uint8Array(await readBytes(join(this.#options.folder, name)))
    const media_type = pictureTypes.find((type) => endings[type] === ending) ?? 'image/jpeg'
    return { bytes, media_type, taken_at: Number(taken_ms) / 1000 }
  }

  /** Resolves when no picture is being written. */
  async settled(): Promise<void> {
    await this.#queue.run(async () => undefined).catch(() => undefined)
  }

  async #found(name: string): Promise<void> {
    const path = join(this.#options.folder, name)
    const [, , incident_id = '', camera = ''] = form.exec(name) ?? []
    if (incident_id) this.#kept.set(name, { incident_id, camera, bytes: (await sizeOf(path)) ?? 0 })
    else if (name.endsWith('.tmp')) await remove(path)
  }

  async #shrink(): Promise<void> {
    let bytes = [...this.#kept.values()].reduce((sum, one) => sum + one.bytes, 0)
    for (const [name, one] of this.#kept) {
      if (this.#kept.size <= most.pictures && bytes <= most.bytes) return
      bytes -= one.bytes
      this.#kept.delete(name)
      await remove(join(this.#options.folder, name))
    }
  }
}

// The note and the photo that people keep of a device: `device_notes.json`, and `photos/<device_id>`.

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { unlink } from '../kit/disk.ts'
import { createSynced, errnoOf, storageError } from '../kit/durable.ts'
import { readBytes } from '../kit/files.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { pictureTypeOf, pictureTypes } from '../kit/picture_type.ts'

/** The most bytes of a photo. */
export const longestPhoto = 1024 * 1024
/** The photos that may arrive at a time. */
const mostAtOnce = 4

export const NoteText = described(
  v.pipe(v.string(), v.trim(), v.minLength(1, 'is empty'), v.maxLength(4000, 'has more than 4,000 characters')),
  '1 to 4,000 characters, without the spaces at its ends',
)
export const DeviceNote = v.strictObject({
  text: NoteText,
  by: described(v.string(), 'The name of the key'),
  operator: v.optional(described(v.string(), 'The name that the person gave as X-Operator; absent without one. Nobody has checked it')),
  at: described(v.number(), 'Unix time', 's'),
})
export type DeviceNote = v.InferOutput<typeof DeviceNote>
const Content = v.strictObject({ notes: v.record(v.string(), DeviceNote) })
type Content = v.InferOutput<typeof Content>

export const DevicePhoto = v.strictObject({ media_type: v.picklist(pictureTypes), bytes: v.number(), sha256: v.string() })
export type Photo = v.InferOutput<typeof DevicePhoto> & { content: Uint8Array }

export class DeviceNotes {
  readonly #file: JsonFile<Content>
  readonly #folder: string
  #arriving = 0

  static async open(folder: string, report: Report): Promise<DeviceNotes> {
    const path = `${folder}/device_notes.json`
    return new DeviceNotes(await JsonFile.open({ path, format: 1, schema: Content, empty: { notes: {} }, report }), folder)
  }

  private constructor(file: JsonFile<Content>, folder: string) {
    this.#file = file
    this.#folder = folder
  }

  get(device_id: string): DeviceNote | null {
    const { notes } = this.#file.content
    return Object.hasOwn(notes, device_id) ? notes[device_id]! : null
  }

  /** Stores the note of a device, or without one removes it. Rejects with `storage`. */
  async set(device_id: string, note: DeviceNote | undefined): Promise<void> {
    await this.#file.change((content) => {
      const { [device_id]: before, ...others } = content.notes
      if (note === undefined && before === undefined) return content
      return { notes: note ? { ...others, [device_id]: note } : others }
    })
  }

  /** Reads the photo of a device; null without one, or if its content is no picture. */
  async photo(device_id: string): Promise<Photo | null> {
    try {
      return photoOf(await readBytes(this.#pathOf(device_id)))
    } catch {
      return null
    }
  }

  /**
   * Stores a photo in the place of the one before. Resolves when it is on the disk. Rejects with `too_large`, with `media_type` for a content that is
   * no picture, with `overloaded` and `storage`.
   */
  async takePhoto(device_id: string, pieces: AsyncIterable<Uint8Array>): Promise<Photo> {
    if (this.#arriving >= mostAtOnce)
      throw new LabError('overloaded', `${mostAtOnce} photos arrive already; send this one again in a moment`, { retry_after_s: 1 })
    this.#arriving++
    try {
      const photo = photoOf(await gathered(pieces))
      if (!photo) throw new LabError('media_type', 'the photo must be a JPEG, a PNG or a WebP; its first bytes are of none of them')
      await createSynced(this.#pathOf(device_id), photo.content, { mode: 0o600 })
      return photo
    } finally {
      this.#arriving--
    }
  }

  /** Removes the photo of a device. Rejects with `storage`. */
  async removePhoto(device_id: string): Promise<void> {
    await unlink(this.#pathOf(device_id)).catch((error) => {
      if (!['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) throw storageError('the photo was not removed', error)
    })
  }

  #pathOf(device_id: string): string {
    return join(this.#folder, 'photos', device_id)
  }
}

function photoOf(content: Uint8Array): Photo | null {
  const media_type = pictureTypeOf(content)
  if (!media_type || content.length > longestPhoto) return null
  return { media_type, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex'), content }
}

async function gathered(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > longestPhoto)
      throw new LabError('too_large', `the photo is larger than ${longestPhoto} bytes; make it smaller, for example 1,600 pixels wide`)
    all.push(piece)
  }
  return Buffer.concat(all)
}

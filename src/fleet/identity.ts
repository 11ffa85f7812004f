// The identity of a bench in the lab: the epoch of its event log. A new epoch is drawn when the data folder is
// made, after a backup was restored, and when a person lets this bench continue after another one of its name.

import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { epochFile } from '../care/backup_files.ts'
import { HostFiles } from '../kit/host_files.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'

const Content = v.strictObject({
  epoch: v.string(),
  /** Whether events were sent in this epoch. */
  is_begun: v.boolean(),
  /** Whether a person has drawn the epoch, knowing what was sent under the name of this bench before. */
  by_person: v.boolean(),
})
type Content = v.InferOutput<typeof Content>

export class Identity {
  readonly #file: JsonFile<Content>
  /** The computer, as systemd names it; cloned cards often have the same. */
  readonly machine: string

  static async open(folder: string, report: Report, machine?: string): Promise<Identity> {
    const empty = { epoch: '', is_begun: false, by_person: false }
    const file = await JsonFile.open<Content>({ path: `${folder}/${epochFile}`, format: 1, schema: Content, empty, report })
    if (file.content.epoch === '') await file.change(() => ({ ...empty, epoch: drawn() }))
    return new Identity(file, machine ?? (await new HostFiles().text('/etc/machine-id')) ?? 'unknown')
  }

  private constructor(file: JsonFile<Content>, machine: string) {
    this.#file = file
    this.machine = machine
  }

  get epoch(): string {
    return this.#file.content.epoch
  }

  get isBegun(): boolean {
    return this.#file.content.is_begun
  }

  get isByPerson(): boolean {
    return this.#file.content.by_person
  }

  /** Notes that there are messages of this epoch. Rejects with `storage`. */
  async begun(): Promise<void> {
    if (!this.isBegun) await this.#file.change((content) => ({ ...content, is_begun: true }))
  }

  /** Draws a new epoch because a person wants it. Rejects with `storage`. */
  async renew(): Promise<void> {
    await this.#file.change(() => ({ epoch: drawn(), is_begun: false, by_person: true }))
  }
}

function drawn(): string {
  return randomBytes(6).toString('hex')
}

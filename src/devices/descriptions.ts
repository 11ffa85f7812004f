// The last accepted description of each program that stands behind a device. Workflows are checked against it while the program is away.

import { messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import { ValuesFile } from '../kit/values_file.ts'
import { Description } from './description.ts'

/** The place where the description of one device is kept. */
export type KeptDescription = {
  readonly description: Description | undefined
  /** Takes the description in place of the one before. */
  keep(description: Description): void
}

export class Descriptions {
  readonly #file: ValuesFile<Description>
  readonly #report: Report

  static async open(folder: string, { clock, report }: { clock: Clock; report: Report }): Promise<Descriptions> {
    const path = `${folder}/descriptions.json`
    return new Descriptions(await ValuesFile.open({ path, member: 'descriptions', schema: Description, clock, report }), report)
  }

  private constructor(file: ValuesFile<Description>, report: Report) {
    this.#file = file
    this.#report = report
  }

  get(device_id: string): Description | undefined {
    return this.#file.get(device_id)
  }

  of(device_id: string): KeptDescription {
    const file = this.#file
    const refused = (error: unknown) =>
      this.#report({
        kind: 'storage',
        message: `${device_id}: how its program describes itself is not kept over a restart: ${messageOf(error)}`,
      })
    return {
      get description() {
        return file.get(device_id)
      },
      keep: (description) => void file.set(device_id, description).catch(refused),
    }
  }

  /** Resolves when all that was to be kept is on the card, or was refused. */
  settled(): Promise<void> {
    return this.#file.settled()
  }
}

/** Keeps the description of a device that is forgotten when it is closed. */
export function inMemory(first: Description | undefined): KeptDescription {
  let description = first
  return {
    get description() {
      return description
    },
    keep(now) {
      description = now
    },
  }
}

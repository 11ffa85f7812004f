// The last accepted description of the program behind each device. Workflows are checked against it while the program is away.

import { messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import { ValuesFile } from '../kit/values_file.ts'
import { Description } from './description.ts'

/** The store of the description of one device. */
export type KeptDescription = {
  readonly description: Description | undefined
  /** Replaces the description. */
  keep(description: Description): void
}

type Options = {
  report: Report
  /** Called after a description was kept: workflows that were checked against the one before are out of date. */
  changed?: () => void
}

export class Descriptions {
  readonly #file: ValuesFile<Description>
  readonly #options: Options

  static async open(folder: string, options: Options & { clock: Clock }): Promise<Descriptions> {
    const path = `${folder}/descriptions.json`
    return new Descriptions(await ValuesFile.open({ path, member: 'descriptions', schema: Description, ...options }), options)
  }

  private constructor(file: ValuesFile<Description>, options: Options) {
    this.#file = file
    this.#options = options
  }

  get(device_id: string): Description | undefined {
    return this.#file.get(device_id)
  }

  of(device_id: string): KeptDescription {
    const file = this.#file
    const { report, changed } = this.#options
    const refused = (error: unknown) =>
      report({
        kind: 'storage',
        message: `${device_id}: how its program describes itself is not kept over a restart: ${messageOf(error)}`,
      })
    return {
      get description() {
        return file.get(device_id)
      },
      keep(description) {
        file.set(device_id, description).catch(refused)
        changed?.()
      },
    }
  }

  /** Resolves when the disk has stored or refused all descriptions. */
  settled(): Promise<void> {
    return this.#file.settled()
  }
}

/** Makes a store in memory, for a device that is forgotten when it is closed. */
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

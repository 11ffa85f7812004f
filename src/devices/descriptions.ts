// The last accepted description of the program behind each device. Workflows are checked against it while the program is away.

import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { Description } from './description.ts'

const Content = v.strictObject({ descriptions: v.record(v.string(), Description) })
type Content = v.InferOutput<typeof Content>

/** The store of the description of one device. */
export type KeptDescription = {
  readonly description: Description | undefined
  /** Replaces the description. */
  keep(description: Description): void
}

export class Descriptions {
  readonly #file: JsonFile<Content>
  readonly #report: Report
  /** The descriptions that the file is to hold. */
  readonly #now: Map<string, Description>

  static async open(folder: string, report: Report): Promise<Descriptions> {
    const path = `${folder}/descriptions.json`
    return new Descriptions(await JsonFile.open({ path, format: 1, schema: Content, empty: { descriptions: {} }, report }), report)
  }

  private constructor(file: JsonFile<Content>, report: Report) {
    this.#file = file
    this.#report = report
    this.#now = new Map(Object.entries(file.content.descriptions))
  }

  get(device_id: string): Description | undefined {
    return this.#now.get(device_id)
  }

  of(device_id: string): KeptDescription {
    const described = this.#now
    const refused = (error: unknown) =>
      this.#report({
        kind: 'storage',
        message: `${device_id}: how its program describes itself is not kept over a restart: ${messageOf(error)}`,
      })
    const keep = (description: Description) => {
      described.set(device_id, description)
      this.#file.change(() => ({ descriptions: Object.fromEntries(described) })).catch(refused)
    }
    return {
      get description() {
        return described.get(device_id)
      },
      keep,
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

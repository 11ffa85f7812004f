// The texts about the data folder in a bundle, when no service answers.

import { namesIn } from '../kit/files.ts'
import { tailOf, treeOf } from '../kit/tree.ts'

/** The bytes that are read from the end of a log. */
const tailBytes = 1024 * 1024

export const stateTexts = {
  /** Lists names and sizes of the files. */
  async listing(folder: string): Promise<string> {
    const { files, others } = await treeOf(folder)
    const lines = [...files.map(({ name, size }) => `${String(size).padStart(12)} ${name}`), ...others.map((name) => `${name} is no file`)]
    return lines.map((line) => `${line}\n`).join('')
  },

  /** Reads the newest incidents. */
  incidents: (folder: string): Promise<string> => tailOf(`${folder}/incidents.jsonl`, tailBytes),

  /** Reads the end of the event log. */
  async events(folder: string): Promise<string> {
    const newest = (await namesIn(`${folder}/events`)).filter((name) => /^events-\d+\.jsonl$/.test(name)).at(-1)
    return newest === undefined ? '' : tailOf(`${folder}/events/${newest}`, tailBytes)
  },
}

// How often the service has begun and not ended in order since this computer was switched on: a service that breaks off again and
// again must not go on moving things.

import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import { JsonFile, type Report } from './json_file.ts'

/** The service starts in safe mode after this many starts that broke off within this time. */
export const brokenOff = { times: 3, within_s: 300 }

const Start = v.strictObject({ boot: v.string(), uptime_s: v.number() })
type Start = v.InferOutput<typeof Start>
const Content = v.strictObject({ starts: v.array(Start) })
type Content = v.InferOutput<typeof Content>

export class Starts {
  readonly #file: JsonFile<Content>
  readonly #report: Report

  static async open(folder: string, report: Report): Promise<Starts> {
    const options = { path: `${folder}/starts.json`, format: 1, schema: Content, empty: { starts: [] }, report }
    return new Starts(await JsonFile.open(options), report)
  }

  private constructor(file: JsonFile<Content>, report: Report) {
    this.#file = file
    this.#report = report
  }

  /** Writes this start down. Returns how many before it broke off lately: killed, crashed or hung, but not by the power. */
  async begin(now: Start = thisMoment()): Promise<number> {
    const lately = this.#file.content.starts.filter(
      ({ boot, uptime_s }) => boot === now.boot && now.uptime_s - uptime_s <= brokenOff.within_s,
    )
    await this.#write([...lately, now])
    return lately.length
  }

  /** This one has ended in order, and with it what was before. */
  end(): Promise<void> {
    return this.#write([])
  }

  /** A card that cannot be written must not keep the service from starting: it can still stop things. */
  async #write(starts: readonly Start[]): Promise<void> {
    const newest = starts.slice(-brokenOff.times - 1)
    await this.#file.change(() => ({ starts: newest })).catch((error) => this.#report({ kind: 'storage', message: messageOf(error) }))
  }
}

/** Not by the wall clock, which jumps on a board that has none. */
function thisMoment(): Start {
  return { boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), uptime_s: uptime() }
}

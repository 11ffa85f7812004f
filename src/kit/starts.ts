// Counts starts without an orderly end since the computer was booted, because a service that crashes again and
// again must not keep moving devices.

import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import { JsonFile, type Report } from './json_file.ts'

/** The number of crashes within a time after which the service starts in safe mode. */
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

  /** Records this start. Returns the number of recent starts that were killed, crashed or hung, without power cuts. */
  async begin(now: Start = thisMoment()): Promise<number> {
    const lately = this.#file.content.starts.filter(
      ({ boot, uptime_s }) => boot === now.boot && now.uptime_s - uptime_s <= brokenOff.within_s,
    )
    await this.#write([...lately, now])
    return lately.length
  }

  /** Records the orderly end, which clears earlier crashes. */
  end(): Promise<void> {
    return this.#write([])
  }

  /** Writes without rejecting, because a failing disk must not prevent a start: the service can still stop devices. */
  async #write(starts: readonly Start[]): Promise<void> {
    const newest = starts.slice(-brokenOff.times - 1)
    await this.#file.change(() => ({ starts: newest })).catch((error) => this.#report({ kind: 'storage', message: messageOf(error) }))
  }
}

/** Returns this moment by the boot and its monotonic clock, because the wall clock may jump. */
function thisMoment(): Start {
  return { boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), uptime_s: uptime() }
}

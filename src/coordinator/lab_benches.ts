// The open benches of a lab, with their keys and the broker that announces their addresses. They need no database.

import { messageOf } from '../errors.ts'
import { Health, Stop } from './answers.ts'
import { openBenches, Refused, type RemoteBench } from './benches.ts'
import { type Broker, openLabBroker } from './broker.ts'
import type { Lab } from './lab_file.ts'
import { otherVersion } from './versions.ts'

type ShownBench = {
  bench: string
  url: string | null
  status: string
  failure: string | null
  other_version: string | null
  heard_s: number | null
}
/** The outcome of a stop of all benches, in a sentence and for each bench. */
export type StopOfAll = { success: boolean; message: string; benches: { bench: string; success: boolean; message: string }[] }

export class LabBenches {
  readonly lab: Lab
  readonly broker: Broker | undefined
  readonly all: ReadonlyMap<string, RemoteBench>

  /** Rejects with `config`, naming the file of a key that is missing. */
  static async open(lab: Lab): Promise<LabBenches> {
    const broker = openLabBroker(lab)
    try {
      return new LabBenches(lab, broker, await openBenches(lab, (name) => broker?.address(name)))
    } catch (error) {
      await broker?.close()
      throw error
    }
  }

  private constructor(lab: Lab, broker: Broker | undefined, all: ReadonlyMap<string, RemoteBench>) {
    this.lab = lab
    this.broker = broker
    this.all = all
  }

  /** Asks all benches for their state. The failure of one does not affect the others. */
  shown(): Promise<ShownBench[]> {
    return Promise.all(
      [...this.all.values()].map(async (bench) => {
        const { name } = this.lab.benches[bench.name]!
        const heard_s = name === undefined ? null : (this.broker?.heard_s(name) ?? null)
        const its = { bench: bench.name, url: bench.url ?? null, heard_s }
        try {
          const { status, version } = await bench.askNow('GET', '/health', Health)
          return { ...its, status, failure: null, other_version: otherVersion(bench.name, version) }
        } catch (error) {
          return { ...its, status: 'silent', failure: messageOf(error), other_version: null }
        }
      }),
    )
  }

  /** Asks all benches at once to stop their devices. It is no safety function: a bench that the network does not reach goes on. */
  async stopAll(): Promise<StopOfAll> {
    const benches = await Promise.all(
      [...this.all.values()].map(async (bench) => {
        try {
          const { success, message } = await bench.askNow('POST', '/api/stop', Stop)
          return { bench: bench.name, success, message }
        } catch (error) {
          const message = error instanceof Refused ? error.message : `${messageOf(error)}: use its red button`
          return { bench: bench.name, success: false, message }
        }
      }),
    )
    const failed = benches.filter(({ success }) => !success)
    if (failed.length === 0) return { success: true, message: `stopped: ${benches.map(({ bench }) => bench).join(', ')}`, benches }
    const words = failed.map(({ bench, message }) => `${bench} (${message})`)
    return { success: false, message: `not stopped, or not known to be: ${words.join('; ')}`, benches }
  }

  async close(): Promise<void> {
    for (const bench of this.all.values()) bench.close()
    await this.broker?.close()
  }
}

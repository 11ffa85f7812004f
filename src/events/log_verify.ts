// Reads every line of a log and lists the damage. Changes nothing, and may run beside the service.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { LabError, messageOf } from '../errors.ts'
import { openPlain } from '../kit/damage.ts'
import { errnoOf, readError } from '../kit/durable.ts'
import { type Scanned, scan } from './log_scan.ts'
import { emptySegment } from './log_segment.ts'

export type Verified = {
  files: number
  events: number
  /** `torn`: the incomplete end of a file, from a write under way or a power cut. */
  damaged: { file: string; offset: number; bytes: number; problem: string; torn: boolean }[]
}

/** Verifies the log in the folder of the segments; with `newest_only`, its last segment alone. Rejects with `not_found` if there is none. */
export async function verifyLog(folder: string, { newest_only = false } = {}): Promise<Verified> {
  const verified: Verified = { files: 0, events: 0, damaged: [] }
  let last_seq = 0
  for (const file of (await segmentsIn(folder)).slice(newest_only ? -1 : 0)) {
    verified.files++
    const tell = (from: number, to: number, problem: string, isTorn = false) =>
      verified.damaged.push({ file, offset: from, bytes: to - from, problem, torn: isTorn })
    try {
      const { segment, damages, torn } = await scanned(folder, file)
      for (const { from, to } of damages) tell(from, to, `${to - from} bytes are no whole line`)
      if (torn)
        tell(torn.from, torn.to, `${torn.to - torn.from} bytes at the end are no whole line; the service cuts them at its next start`, true)
      if (segment.count > 0 && segment.first_seq <= last_seq)
        tell(0, 0, `begins with event ${segment.first_seq}, after ${last_seq}: out of order`)
      last_seq = Math.max(last_seq, segment.last_seq)
      verified.events += segment.count
    } catch (error) {
      tell(0, 0, `cannot be read: ${messageOf(error)}`)
    }
  }
  return verified
}

async function scanned(folder: string, file: string): Promise<Scanned> {
  const handle = await openPlain(join(folder, file))
  try {
    return await scan(handle, emptySegment(folder, 0), (await handle.stat()).size)
  } finally {
    await handle.close()
  }
}

async function segmentsIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => /^events-\d{6,}\.jsonl$/.test(name)).sort()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw readError(`the event log in ${folder}`, error)
    const advice = 'the service makes it at its first start; for one with another data folder: --data-dir'
    throw new LabError('not_found', `there is no event log in ${folder}; ${advice}`, { cause: error })
  }
}

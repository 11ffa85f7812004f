// Learned durations, in `durations.json`. The file is written at most once a minute, if the change would alter a forecast, and at the end. A lost
// duration is soon learned again.

import * as v from 'valibot'
import type { Clock } from '../kit/clock.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { Durations, LearnedDurations } from '../workflow/plans/durations.ts'

const Kept = v.strictObject({ LIVE: LearnedDurations, DEVICE_SIM: LearnedDurations })
const nothing: LearnedDurations = { operations: {}, hops: {}, initializations: {}, heating: {}, openings: {}, bodies: {}, ways: {} }

const between_ms = 60_000

type Learned = {
  LIVE: Durations
  DEVICE_SIM: Durations
  /** Resolves when the write in progress has ended. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** Opens the file. Rejects as `JsonFile.open` does. A failed write is harmless, and repeated. */
export async function openLearned({ data_dir, clock, report }: { data_dir: string; clock: Clock; report: Report }): Promise<Learned> {
  const file = await JsonFile.open({
    path: `${data_dir}/durations.json`,
    format: 1,
    schema: Kept,
    empty: { LIVE: nothing, DEVICE_SIM: nothing },
    report,
  })
  let cancel: (() => void) | undefined
  let isUnwritten = false
  const onLearned = () => {
    cancel ??= clock.after(between_ms, () => void writeNews())
  }
  const writeNews = async () => {
    cancel = undefined
    isUnwritten = true
    if (LIVE.isNewsTo(file.content.LIVE) || DEVICE_SIM.isNewsTo(file.content.DEVICE_SIM)) await write()
  }
  const write = async () => {
    cancel?.()
    cancel = undefined
    isUnwritten = false
    await file.change(() => ({ LIVE: LIVE.toJSON(), DEVICE_SIM: DEVICE_SIM.toJSON() })).catch(() => undefined)
  }
  const LIVE = new Durations(file.content.LIVE, onLearned)
  const DEVICE_SIM = new Durations(file.content.DEVICE_SIM, onLearned)
  return { LIVE, DEVICE_SIM, settled: () => file.settled(), close: async () => (cancel || isUnwritten ? write() : file.settled()) }
}

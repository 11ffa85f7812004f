// A log of many events, written as the service writes it, only faster: whole segments at a time, with their sidecars.

import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runtimeEvent } from '../../../src/events/event.ts'
import { envelope, lineOverhead, writeLine } from '../../../src/events/log_line.ts'
import { emptySegment, note, writeSidecar } from '../../../src/events/log_segment.ts'
import { sample } from './sample.ts'

const segment_bytes = 8 * 1024 * 1024
const first_us = 1_767_225_600_000_000
const each_us = 1000
/** Every execution has so many, one after the other. */
const eventsOfOne = 10_000

/** The time of the event `n`, from 0, in seconds. */
function timeOf(n: number): number {
  return (first_us + n * each_us) / 1e6
}

function executionOf(n: number): string {
  return `3f6a1c52-0d1b-4c1e-9b0a-${String(Math.floor(n / eventsOfOne)).padStart(12, '0')}`
}

/** Makes the log, hands over its data folder, and takes it away again. */
export async function withLog<Answer>(events: number, use: (data_dir: string) => Promise<Answer>): Promise<Answer> {
  const data_dir = mkdtempSync(join(tmpdir(), 'benchd-log-'))
  try {
    await make(`${data_dir}/events`, events)
    return await use(data_dir)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function make(folder: string, events: number): Promise<void> {
  await mkdir(folder)
  const buffer = Buffer.allocUnsafeSlow(segment_bytes)
  const head = envelope('5f0c9a1e', true)
  for (let n = 0, number = 1; n < events; number++) {
    const segment = emptySegment(folder, number)
    for (let text = textOf(n); segment.bytes + text.length + lineOverhead <= buffer.length; text = textOf(n)) {
      const from = segment.bytes
      const us = first_us + n * each_us
      const to = writeLine(buffer, from, head, { seq: n + 1, mono_us: n * each_us }, text)
      note(segment, { us, seq: n + 1, execution_id: executionOf(n), from, to })
      if (++n === events) break
    }
    const file = await open(segment.path, 'w', 0o600)
    await file.writeFile(buffer.subarray(0, segment.bytes))
    await file.close()
    if (n < events) await writeSidecar(segment, open)
  }
}

/** The event `n` as JSON. */
function textOf(n: number): string {
  const { event_name, context } = sample(n)
  const execution_id = executionOf(n)
  return JSON.stringify(runtimeEvent(event_name, execution_id, timeOf(n), { ...context, execution_id }))
}

// Batches of events for the broker: where they are cut, events too large for one, and a reader that left in the midst of one.

import { test } from 'tap'
import type { EventLog } from '../events/log.ts'
import { envelope, lineOverhead, writeLine } from '../events/log_line.ts'
import { type Batch, Batches } from './batches.ts'

const mib = 1024 * 1024

/** A log of events that are JSON strings of these lengths, numbered from 1. */
function logOf(lengths: readonly number[]): Pick<EventLog, 'read'> {
  const lines = lengths.map((length, i) => {
    const json = JSON.stringify('x'.repeat(length - 2))
    const bytes = Buffer.alloc(3 * length + lineOverhead)
    return bytes.subarray(0, writeLine(bytes, 0, envelope('5f0c9a1e', true), { seq: i + 1, mono_us: 0 }, json))
  })
  return {
    async *read({ after_seq = 0 }) {
      yield { bytes: Buffer.concat(lines.slice(after_seq)) } as never
    },
  }
}

type Seen = Pick<Batch, 'from' | 'to' | 'count'> & { lengths: (number | string)[] }

/** A batch is good until the next one is asked for. */
function seen({ from, to, count, payload }: Batch): Seen {
  const text = payload.toString()
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const lines = text.slice(0, -1).split('\n')
  const parsed = lines.map((line) => JSON.parse(line) as { seq: number; event?: string; too_large?: number })
  return { from, to, count, lengths: parsed.map(({ event, too_large }) => (event === undefined ? `${too_large}` : event.length + 2)) }
}

async function batchesOf(lengths: readonly number[], largest = mib): Promise<Seen[]> {
  const all: Seen[] = []
  for await (const batch of new Batches(logOf(lengths) as EventLog, largest).after(0)) all.push(seen(batch))
  return all
}

test('a batch has 200 events at most, and 64 KiB at most', async (t) => {
  const many = await batchesOf(Array.from({ length: 401 }, () => 10))
  t.match(many, [
    { from: 1, to: 200, count: 200 },
    { from: 201, to: 400, count: 200 },
    { from: 401, to: 401, count: 1 },
  ])
  t.match(await batchesOf([30_000, 30_000, 30_000]), [{ lengths: [30_000, 30_000] }, { from: 3, lengths: [30_000] }])
})

test('an event that is larger than a batch is alone in one, whole to its last byte, and those around it are too', async (t) => {
  // The lengths about the size of the buffer, where a byte more or less decides.
  for (let length = 65_480; length < 65_560; length++)
    t.same(await batchesOf([10, length, 20]), [
      { from: 1, to: 1, count: 1, lengths: [10] },
      { from: 2, to: 2, count: 1, lengths: [length] },
      { from: 3, to: 3, count: 1, lengths: [20] },
    ])
  t.match(await batchesOf([10, 300_000, 20]), [{ lengths: [10] }, { lengths: [300_000] }, { lengths: [20] }])
})

test('an event that no message can hold is told by its size', async (t) => {
  t.match(await batchesOf([10, 5000, 20], 2000), [{ from: 1, to: 3, count: 3, lengths: [10, '5000', 20] }])
})

test('batches begin anew where their last reader left in the midst of one', async (t) => {
  const batches = new Batches(logOf([30_000, 30_000, 30_000]) as EventLog, mib)
  for await (const batch of batches.after(0)) {
    t.match(seen(batch), { from: 1, to: 2 })
    break
  }
  for await (const batch of batches.after(1)) t.match(seen(batch), { from: 2, to: 3, count: 2, lengths: [30_000, 30_000] })
})

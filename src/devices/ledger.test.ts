import { readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import type { Clock } from '../kit/clock.ts'
import { diskClock } from '../testing/kit.ts'
import { Ledger } from './ledger.ts'
import { OperationHistory } from './operation_history.ts'
import type { OperationRecord } from './records.ts'

const good = { result: { success: true, message: 'done' }, detail: null, reason: null }

function begin(t: Test) {
  const folder = t.testdir({})
  const time = { now: 1e9, set: 0 }
  const report = ({ message }: { message: string }) => t.fail(message)
  const open = (clock?: Clock) => {
    const history = new OperationHistory({ folder, report, ...(clock && { clock }) })
    return new Ledger({ history, now: () => time.now + time.set, steadyNow: () => time.now })
  }
  const lines = () => readFileSync(`${folder}/operations.jsonl`, 'utf8').trim().split('\n').slice(2)
  return { time, open, lines }
}

function ended(ledger: Ledger, device_id: string): OperationRecord {
  const record = ledger.begin(device_id, 'shake', {})
  ledger.end(record, good)
  return record
}

test('each operation that has ended is kept once, and told as it was by the next', async (t) => {
  const { open, lines } = begin(t)
  const first = open()
  const running = first.begin('a', 'shake', {})
  const records = [ended(first, 'a'), ended(first, 'b')]
  for (let turns = 0; turns < 20; turns++) {
    await Promise.resolve()
    records.push(ended(first, 'a'))
  }
  await first.close()
  t.same(
    lines().map((line) => JSON.parse(line).operation_id),
    [running, ...records].map(({ operation_id }) => operation_id),
  )

  const next = open()
  const here = ended(next, 'b')
  for (const record of records) t.same(await next.find(record.operation_id), record)
  t.same(await next.lastOf('a'), records.at(-1))
  t.same(await next.lastOf('b'), here)
  t.equal(await next.lastOf('c'), null)
  t.match(await next.find(running.operation_id), { status: 'ended', result: null, ended: null, detail: /outcome unknown/ })
  await next.close()
  t.equal(lines().length, records.length + 2)
})

test('an operation is written at once, and those that follow soon are written together', async (t) => {
  const folder = t.testdir({})
  const clock = diskClock()
  const history = new OperationHistory({ folder, report: ({ message }) => t.fail(message), clock })
  const ledger = new Ledger({ history })
  const written = () => readFileSync(`${folder}/operations.jsonl`, 'utf8').trim().split('\n').length - 2
  ended(ledger, 'a')
  await clock.advance(0)
  t.equal(written(), 1)
  for (let i = 0; i < 20; i++) ended(ledger, 'a')
  await clock.advance(9)
  t.equal(written(), 1)
  await clock.advance(1)
  t.equal(written(), 21)
  ended(ledger, 'a')
  await ledger.close()
  t.equal(written(), 22, 'nothing is left out at the end')
})

test('a day of them is kept, the newest thousand, in a file that does not grow for ever', async (t) => {
  const { open, lines, time } = begin(t)
  const clock = diskClock()
  const first = open(clock)
  const old = ended(first, 'a')
  for (let i = 1; i <= 5000; i++) {
    time.now++
    ended(first, 'a')
    if (i % 100 === 0) await clock.advance(10)
  }
  await first.close()
  t.ok(lines().length <= 4000 + 100)
  const next = open()
  t.equal(await next.find(old.operation_id), undefined)
  time.set = 30 * 24 * 3600
  t.ok(await next.lastOf('a'), 'and nothing is forgotten when somebody sets the clock')
  time.now += 24 * 3600 + 1
  t.equal(await next.lastOf('a'), null)
})

test('an operation is found after somebody has set the clock back by more than a day', async (t) => {
  const { open, time } = begin(t)
  const ledger = open()
  time.set = -2 * 24 * 3600
  const record = ended(ledger, 'a')
  t.equal(await ledger.find(record.operation_id), record)
  await ledger.close()
})

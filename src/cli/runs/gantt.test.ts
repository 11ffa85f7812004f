import { stripVTControlCharacters } from 'node:util'
import { test } from 'tap'
import { clock } from '../../kit/seconds.ts'
import type { Bar, DryRun } from '../../workflow/dry_run.ts'
import { forTerminal } from '../table.ts'
import { gantt } from './gantt.ts'

const bar = (thread_name: string, device: string | null, [from_s, to_s]: [number, number], kind: Bar['kind'] = 'action'): Bar => ({
  thread_name,
  kind,
  name: 'x',
  device,
  from_s,
  to_s,
})

const runOf = (bars: Bar[], makespan_s: number): DryRun => ({
  workflow: 'work',
  verdict: 'completes',
  makespan_s,
  moves: 0,
  actions: 0,
  conflict: null,
  refusal: null,
  waiting: [],
  conditions: [],
  devices: [],
  gantt: bars,
  dropped: 0,
  plan: null,
})

const two = runOf(
  [bar('one', 'arm', [0, 8], 'move'), bar('one', 'mixer', [8, 40]), bar('two', 'spinner', [20, 28]), bar('two', 'mixer', [60, 72])],
  76,
)

test('each thread is a row, in which a device is a letter, a move an arrow, and waiting a dot', async (t) => {
  t.same(gantt(two, { columns: 80, color: false }).split('\n'), [
    '    |0:00          |0:15          |0:30          |0:45          |1:00',
    `one ${'>'.repeat(8)}${'A'.repeat(32)}`,
    `two ${' '.repeat(20)}${'B'.repeat(8)}${'·'.repeat(32)}${'A'.repeat(12)}`,
    '',
    'A mixer  B spinner  > moves  · waits',
  ])
})

test('the legend says in words that a step has no device', async (t) => {
  const lines = gantt(runOf([bar('one', null, [0, 8]), bar('one', 'mixer', [8, 40])], 40), { columns: 80, color: false }).split('\n')
  t.equal(lines.at(-1), 'A steps without a device  B mixer  > moves  · waits')
  const event = gantt(runOf([bar('one', null, [8, 8]), bar('one', 'mixer', [8, 40])], 40), { columns: 80, color: false }).split('\n')
  t.equal(event.at(-1), 'A mixer  > moves  · waits', 'an event takes no time, and is not drawn')
})

test('it is 80 to 120 columns wide whatever the terminal is, and what is too short for a column is still there', async (t) => {
  const names = Array.from({ length: 40 }, (_, i) => `thread-with-quite-a-long-name-${i}`)
  const many = runOf(
    names.flatMap((name, i) => [bar(name, 'arm', [i, i + 1], 'move'), bar(name, `device-${i}`, [i * 900, i * 900 + 1])]),
    40_000,
  )
  for (const [columns, most] of [
    [10, 80],
    [100, 100],
    [400, 120],
  ] as const) {
    const lines = gantt(many, { columns, color: false }).split('\n')
    t.ok(
      lines.every(({ length }) => length <= most),
      `${Math.max(...lines.map(({ length }) => length))} of ${most}`,
    )
    names.forEach((_, i) => {
      t.match(lines[i + 1], /^thread-with-quite-a-lon… .*[A-Za-z]/)
    })
  }
})

test('with color it says the same, and without there is no escape sequence', async (t) => {
  const plain = gantt(two, { columns: 80, color: false })
  const colored = forTerminal(gantt(two, { columns: 80, color: true }))
  t.notMatch(plain, '\u001b')
  t.match(colored, '\u001b[36mA\u001b[0m')
  t.equal(stripVTControlCharacters(colored), plain)
})

test('a run in which nothing happens, or takes no time, is drawn too', async (t) => {
  t.equal(gantt(runOf([], 0), { columns: 80, color: false }), 'nothing happens in it')
  t.match(gantt(runOf([bar('one', 'mixer', [0, 0])], 0), { columns: 80, color: false }), /^one A$/m)
})

test('time is told in hours, minutes and seconds', async (t) => {
  t.same([0, 59.6, 61, 3599.7, 36_061].map(clock), ['0:00', '1:00', '1:01', '1:00:00', '10:01:01'])
})

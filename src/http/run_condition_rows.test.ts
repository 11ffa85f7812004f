// The ways that labware takes at conditions, and its waits, in the record of its run.

import { test } from 'tap'
import { beginRun, plateRun, type Scripted } from '../testing/http_runs.ts'

type Row = Record<string, unknown>

const rowsOf = async (run: Scripted, kind: string) =>
  (await run.get<{ rows: Row[] }>(`/api/executions/${run.execution_id}/record?kind=${kind}`)).rows

const read = { do: 'get_temperature', on: 'shaker-1', save: { warmth: 'temperature' } }
const emit = (name: string) => ({ action: { emit: name } })
const steps = [
  { method: 'read_it' },
  { name: 'is_it_cold', if: { value: 'warmth', below: 30 }, then: [emit('cold')], else: [emit('hot')] },
  { name: 'is_it_hot', if: { value: 'warmth', above: 90 }, then: [emit('hot')] },
  { name: 'twice', repeat: { times: 2 }, steps: [emit('round')] },
  { name: 'until_cold', repeat: { until: { value: 'warmth', below: 30 }, at_most: 4 }, steps: [emit('round')] },
  { name: 'rest', delay: 30 },
  { name: 'which', branch: 'way', cases: { left: [emit('left')] }, else: [emit('other')] },
  { name: 'long_rest', delay: 600 },
]
const values = { warmth: { example: 20 } }
const plate = { thread_name: 'plate', labware: 'plate', barcode: null, group_id: null }

test('conditions, rounds and waits are rows with their reasons, once over a power cut', async (t) => {
  const before = await beginRun(t, { workflow: plateRun(steps, { values, methods: { read_it: [read] } }) })
  await before.until('the branch', async () => {
    const { threads } = await before.snapshot()
    return threads.some(({ waiting }) => /custom event way/.test(JSON.stringify(waiting)))
  })
  const rows = await rowsOf(before, 'condition')
  t.match(rows[0], { ...plate, of: 'if', step: 'is_it_cold', side: 'then', at: Number, thread_id: String, values: { warmth: Number } })
  const run = await before.afterPowerCut()
  await run.post(`/api/executions/${run.execution_id}/resume`)
  await run.thread('plate', 'AWAITING_EVENT')
  await run.post(`/api/executions/${run.execution_id}/emit`, { name: 'way', value: 'right' })
  const path = `/api/executions/${run.execution_id}`
  await run.until('the long rest', async () => {
    const { threads } = await run.snapshot()
    return threads.some(({ waiting }) => /600 s|10 min/.test(JSON.stringify(waiting)))
  })
  await run.post(`${path}/skip`, { item: 'plate/long_rest' })
  await run.over()
  t.strictSame(
    (await rowsOf(run, 'condition')).map(({ of, step, side, round, text }) =>
      [of, step, side, round, text].filter((one) => one !== undefined).join(' | '),
    ),
    [
      'if | is_it_cold | then | warmth below 30: yes',
      'if | is_it_hot | else | warmth above 90: no',
      'repeat | twice | again | 0 | round 1 of 2 begins',
      'repeat | twice | again | 1 | round 2 of 2 begins',
      'repeat | twice | end | 2 | ends after round 2',
      'repeat | until_cold | again | 0 | round 1 of at most 4 begins',
      'repeat | until_cold | end | 1 | warmth below 30: yes; ends after round 1',
      'branch | which | else | way came with "right"',
    ],
  )
  const waits = await rowsOf(run, 'wait')
  t.match(waits, [
    { ...plate, of: 'delay', step: 'rest', seconds: 30, outcome: 'reached', began: Number, ended: Number },
    { of: 'delay', step: 'long_rest', seconds: 600, outcome: 'skipped' },
  ])
  t.equal(waits.length, 2)
  const report = (await run.ask('GET', `${path}/report`)).text
  t.match(report, /Wait long_rest skipped/)
  t.notMatch(report, /Wait rest \w/, 'a wait that came to its end is a step and no deviation')
})

test('a wait for a temperature is a row with its device and target, also when it takes too long', async (t) => {
  const warm = { do: 'set_temperature', on: 'shaker-1', with: { temperature: 60 } }
  const step = { name: 'warm', until_temperature: { device: 'shaker-1', within: 0.5 }, timeout: 10 }
  const run = await beginRun(t, { workflow: plateRun([{ method: 'warm_it' }, step], { methods: { warm_it: [warm] } }) })
  const { thread_id } = await run.thread('plate', 'PAUSED')
  t.match(await rowsOf(run, 'wait'), [{ of: 'until_temperature', step: 'warm', device_id: 'shaker-1', target: 60, outcome: 'timeout' }])
  await run.bench.clock.advance(600_000)
  await run.recover(thread_id, 'RETRY')
  await run.over()
  t.strictSame(
    (await rowsOf(run, 'wait')).map(({ outcome }) => outcome),
    ['timeout', 'reached'],
  )
})

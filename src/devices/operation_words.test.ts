import { test } from 'tap'
import { operationText, operationWords } from './operation_words.ts'
import { operations } from './operations.ts'
import type { OperationRecord } from './records.ts'

const record: OperationRecord = {
  operation_id: 'o',
  device_id: 'shaker-1',
  operation: 'shake',
  params: { speed: 500, duration: 5 },
  status: 'ended',
  result: { success: true, message: 'shook' },
  detail: null,
  reason: null,
  ended_early: false,
  notice: null,
  started: 1,
  ended: 6,
  execution_id: null,
  by: null,
}
const shaken = 'shake shaker-1 at 500 rpm for 5 s'

test('each operation of the table has words of its own, and any other one is performed', (t) => {
  for (const name of Object.keys(operations)) t.notMatch(operationWords('a', name, {}).past, /Performed/, name)
  t.equal(
    operationWords('reader-1', 'read', { wavelength: 450, wells: ['A1'] }).past,
    'Performed read at reader-1 (wavelength 450, wells ["A1"])',
  )
  t.equal(operationWords('reader-1', 'read', {}).past, 'Performed read at reader-1')
  t.equal(operationWords('shaker-1', 'set_temperature', { temperature: null }).past, 'Switched the heater of shaker-1 off')
  t.end()
})

test('the text of an operation says what it came to', (t) => {
  const running = { status: 'running', result: null, ended: null } as const
  const failed = { result: { success: false, message: 'stopped' }, detail: null }
  for (const [more, text] of [
    [{}, 'Shook shaker-1 at 500 rpm for 5 s'],
    [running, `Began to ${shaken}`],
    [{ result: null, ended: null }, `Began to ${shaken}, and the outcome is unknown`],
    [failed, `Tried to ${shaken}, which failed: stopped`],
    [{ ...failed, detail: 'no answer' }, `Tried to ${shaken}, which failed: no answer`],
    [{ ended_early: true }, 'Shook shaker-1 at 500 rpm for 5 s, ended early'],
  ] as const)
    t.equal(operationText({ ...record, ...more }), text)
  t.end()
})

// What is written down of devices that are on, over a restart.

import { test } from 'tap'
import { OperationJournal } from './operation_journal.ts'

test('a halt that was not heard outlasts a restart, until the device is off', async (t) => {
  const folder = t.testdir({})
  const open = () => OperationJournal.open(folder, ({ message }) => t.fail(message))
  const first = await open()
  await first.switchedOn('shaker-1', 'shake')
  await first.switchedOn('sealer-1', 'seal')
  await first.switchedOn('shaker-1', 'stop')
  await first.close()
  const second = await open()
  t.same(second.on.sort(), ['sealer-1', 'shaker-1'])
  t.same(second.haltsOwed, ['shaker-1'])
  await second.switchedOff('shaker-1')
  t.same(second.haltsOwed, [])
  await second.close()
})

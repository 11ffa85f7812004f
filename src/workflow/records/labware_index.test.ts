import { test } from 'tap'
import { LabwareIndex } from './labware_index.ts'

test('the index forgets a run with its labware, and keeps the others that had it', (t) => {
  const index = new LabwareIndex()
  const threads = (execution_id: string) => [
    { execution_id, labware_id: 'l1', barcode: 'P1' },
    { execution_id, barcode: null },
  ]
  for (const thread of [...threads('e1'), ...threads('e1'), ...threads('e2')]) index.add(thread)
  for (const name of ['P1', 'l1']) t.same(index.runsWith(name), ['e1', 'e2'])
  index.remove('e1', threads('e1'))
  for (const name of ['P1', 'l1']) t.same(index.runsWith(name), ['e2'])
  index.remove('e2', threads('e2'))
  for (const name of ['P1', 'l1', 'null']) t.same(index.runsWith(name), [])
  t.end()
})

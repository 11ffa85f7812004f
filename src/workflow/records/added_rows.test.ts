import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'tap'
import { keptIn } from '../../bench/persisted_runs.ts'
import { openEvents } from '../../events/open.ts'
import { recordPath } from '../../events/run_record_file.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import { silent } from '../../kit/log.ts'
import { oneArm, standing, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, liveRuntime } from '../../testing/workflow.ts'
import { addRow } from './added_rows.ts'

const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 5, queue: 1000 }, limits: { subscribers: 8 } }
const topology = oneArm({ pads: ['pad_1'], nests: { nest: 'reader' }, operations: { reader: { read: 1 } } })
const reading = Array.from({ length: 6 }, () => ({ do: 'read', on: 'reader' }))
const workflow = workflowOf('measure', { plate: { ...standing('pad_1'), steps: [{ method: 'look' }] } }, { methods: { look: reading } })

test('rows that are added at every moment of a run and after it are all there, once', async (t) => {
  const folder = t.testdir({})
  const hub = await openEvents({ folder, config, log: silent })
  const { runtime } = liveRuntime(topology, [workflow], { hub, live: instantBench(), keep: keptIn(hub) })
  const execution = await begin(runtime, { workflow: 'measure', run_mode: 'LIVE' })
  const { execution_id } = execution
  const around = { execution, folder: `${folder}/executions`, persist: () => hub.log.persist() }
  const added: Promise<boolean>[] = []
  const unlisten = hub.log.onShown(() => void added.push(addRow(execution_id, { kind: 'note', n: added.length }, around)))
  await runtime.over(execution)
  for (let turns = 0; turns < 50; turns++) {
    added.push(addRow(execution_id, { kind: 'note', n: added.length }, around))
    await new Promise(setImmediate)
  }
  unlisten()
  t.ok((await Promise.all(added)).every(Boolean))
  t.notOk(execution.state.isWritten)
  t.ok(await addRow(execution_id, { kind: 'note', n: added.length }, { ...around, execution: undefined }))
  const notes: number[] = []
  for await (const { rows, damaged } of rowsOfRecord(recordPath(around.folder, execution_id))) {
    t.equal(damaged, 0)
    notes.push(...rows.map((row) => JSON.parse(row)).flatMap(({ kind, n }) => (kind === 'note' ? [n] : [])))
  }
  t.same(
    notes.sort((one, other) => one - other),
    Array.from({ length: added.length + 1 }, (_, n) => n),
  )
  await hub.close()
})

test('a run without a record gets none', async (t) => {
  const folder = t.testdir({})
  const around = { execution: undefined, folder, persist: async () => {} }
  t.equal(await addRow('x', { kind: 'note' }, around), false)
  mkdirSync(dirname(recordPath(folder, 'x')))
  writeFileSync(recordPath(folder, 'x'), '')
  t.equal(await addRow('x', { kind: 'note' }, around), true)
})

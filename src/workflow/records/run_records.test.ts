// Kills at every boundary of a run that measures: each value that was shown is in the record once, with its plate.

import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { keptIn } from '../../bench/persisted_runs.ts'
import type { Hub } from '../../events/hub.ts'
import { openEvents } from '../../events/open.ts'
import { type RecordRow, RunRecordFile, recordPath } from '../../events/run_record_file.ts'
import { longValueOf, rowsOfRecord } from '../../events/run_record_reader.ts'
import { silent } from '../../kit/log.ts'
import { oneArm, standing, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, liveRuntime } from '../../testing/workflow.ts'
import type { Equipment } from '../equipment/equipment.ts'
import type { Doing } from '../plans/author.ts'
import { RunState } from '../state/entry.ts'
import { checkpointOf } from '../state/run.ts'
import { RunRecord } from '../state/run_record.ts'
import { readTimeline, restoreRecord } from './run_records.ts'

const topology = oneArm({ pads: ['pad_1'], nests: { nest: 'reader' }, operations: { reader: { read: 1 } } })
const reading = Array.from({ length: 6 }, () => ({ do: 'read', on: 'reader' }))
const workflow = workflowOf('measure', { plate: { ...standing('pad_1'), steps: [{ method: 'look' }] } }, { methods: { look: reading } })

const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 5, queue: 1000 }, limits: { subscribers: 8 } }
const openHub = (folder: string) => openEvents({ folder, config, log: silent })

type Value = { name: string; value?: unknown; sha256?: string; labware: string; action_id: string }

/** A run whose reader answers with the next number each time, and with a long value at the third. `onRead` is called before each answer. */
async function measured(t: Test, onRead: (n: number, hub: Hub) => Promise<void>) {
  const folder = t.testdir({})
  const hub = await openHub(folder)
  let n = 0
  const perform = async () => {
    await onRead(++n, hub)
    return { success: true, message: 'read', data: { n, ...(n === 3 && { spectrum: Array.from({ length: 2000 }, (_, i) => i) }) } }
  }
  const live = liveRuntime(topology, [workflow], { hub, live: instantBench({ perform }), keep: keptIn(hub) })
  const execution = await begin(live.runtime, { workflow: 'measure', run_mode: 'LIVE' })
  return { folder, hub, execution, runtime: live.runtime }
}

async function valuesIn(path: string, length?: number): Promise<{ values: Value[]; damaged: number }> {
  const found: { values: Value[]; damaged: number } = { values: [], damaged: 0 }
  for await (const { rows, damaged } of rowsOfRecord(path, { length, kinds: ['value'] })) {
    found.values.push(...rows.map((row) => JSON.parse(row) as Value))
    found.damaged += damaged
  }
  return found
}

test('a kill at any moment takes no value that was shown, and keeps none of which the run does not know', async (t) => {
  const copies: string[] = []
  const copy = (folder: string) => {
    const to = `${t.testdirName}-copy-${copies.length}`
    cpSync(folder, to, { recursive: true })
    copies.push(to)
  }
  let from = ''
  const { folder, hub, execution, runtime } = await measured(t, async () => void (from && copy(from)))
  from = folder
  const unlisten = hub.log.onShown(() => copy(folder))
  t.teardown(() => {
    for (const one of copies) rmSync(one, { recursive: true, force: true })
  })
  await runtime.over(execution)
  await hub.log.persist()
  unlisten()
  await hub.close()
  t.ok(copies.length > 10, `${copies.length} kills`)
  for (const killed of copies) {
    const again = await openHub(killed)
    const shown = new Map<string, unknown>()
    for await (const { entity_type, status, context, execution_id } of again.events())
      if (execution_id === execution.execution_id && entity_type === 'ACTION' && status === 'COMPLETED' && context.values)
        shown.set(String(context.action_id), context.values)
    const saved = again.log.saved.runs.get(execution.execution_id)
    const length = saved && checkpointOf(saved.keys)!.record!.bytes
    const { values, damaged } = await valuesIn(recordPath(`${killed}/executions`, execution.execution_id), length)
    const ofActions = values.filter(({ name }) => name === 'n')
    const faults = [
      ...(damaged > 0 ? [`${damaged} damaged`] : []),
      ...(new Set(ofActions.map(({ action_id }) => action_id)).size < ofActions.length ? ['a value is there twice'] : []),
      ...[...shown.keys()].filter((id) => !ofActions.some(({ action_id, labware }) => action_id === id && labware === 'plate')),
    ]
    t.same(faults, [], killed)
    await again.close()
  }
  const { values } = await valuesIn(recordPath(`${folder}/executions`, execution.execution_id))
  t.same(
    values.filter(({ name }) => name === 'n').map(({ value }) => value),
    [1, 2, 3, 4, 5, 6],
  )
})

test('a long value lies beside the record under its hash, and its event has the name alone', async (t) => {
  const { folder, hub, execution, runtime } = await measured(t, async () => {})
  await runtime.over(execution)
  await hub.log.persist()
  const path = recordPath(`${folder}/executions`, execution.execution_id)
  const { values } = await valuesIn(path)
  const [spectrum] = values.filter(({ name }) => name === 'spectrum')
  t.match(spectrum, { sha256: /^[0-9a-f]{64}$/, bytes: Number, shape: [2000] })
  t.notOk('value' in spectrum!)
  t.equal(JSON.parse((await longValueOf(path, spectrum!.sha256!))!).length, 2000)
  const named: unknown[] = []
  for await (const { context } of hub.events({ execution_id: execution.execution_id })) named.push(...((context.values ?? []) as unknown[]))
  t.has(named, [
    { name: 'n', value: 1 },
    { name: 'n', value: 2 },
    { name: 'n', value: 3 },
    { name: 'spectrum', unit: null },
  ])
  await hub.close()
})

test('a record that the disk cannot read does not keep its run from being restored', async (t) => {
  const { hub, execution, runtime } = await measured(t, async () => {})
  await runtime.over(execution)
  await hub.close()
  const counts = { bytes: 100, actions: 6, moves: 2, values: 7, long_bytes: 0 }
  const folder = t.testdirName
  writeFileSync(`${folder}/file`, '')
  const { execution_id } = execution
  await restoreRecord(execution, new RunRecordFile({ folder: `${folder}/file`, execution_id }), counts)
  mkdirSync(recordPath(`${folder}/again`, execution_id), { recursive: true })
  const unreadable = new RunRecordFile({ folder: `${folder}/again`, execution_id })
  await restoreRecord(execution, unreadable, { ...counts, bytes: 1 })
  t.equal(unreadable.length, 0, 'no row waits for a file that cannot be read')
})

test('long values that are too many leave room for short ones, and one row says it', (t) => {
  const file = new RunRecordFile({ folder: t.testdirName, execution_id: 'x' })
  const rows: RecordRow[] = []
  file.add = (row) => rows.push(row)
  const record = new RunRecord(new RunState())
  record.writeTo(file, { bytes: 0, actions: 0, moves: 0, values: 0, long_bytes: 256 * 1024 * 1024 })
  for (let i = 0; i < 3; i++) t.equal(record.addValue({ name: 'image' }, 'x'.repeat(5000)), undefined)
  t.same(record.addValue({ name: 'n' }, 1), { value: 1 })
  t.same(
    rows.map(({ kind, name }) => `${kind} ${name}`),
    ['values_left_out image', 'value n'],
  )
  t.end()
})

test('values of two operations at once have the id of their own operation', async (t) => {
  const rows: Record<string, unknown>[] = []
  const body = async ({ device }: Doing) => void (await Promise.all([device.perform('read', { n: 1 }), device.perform('read', { n: 2 })]))
  const both = workflowOf('both', { plate: { ...standing('pad_1'), steps: [{ action: { name: 'both', on: 'reader', body } }] } })
  const perform: Equipment['perform'] = async (_device, _operation, { n }, { begun }) => {
    begun?.(`operation ${n}`)
    return { success: true, message: '', data: { n } }
  }
  const hub = await openHub(t.testdir({}))
  const { runtime } = liveRuntime(topology, [both], { hub, live: instantBench({ perform }), keep: keptIn(hub) })
  const execution = await begin(runtime, { workflow: 'both', run_mode: 'LIVE' })
  await runtime.over(execution)
  await hub.log.persist()
  for await (const { rows: texts } of rowsOfRecord(recordPath(`${t.testdirName}/executions`, execution.execution_id), { kinds: ['value'] }))
    rows.push(...texts.map((text) => JSON.parse(text)))
  t.same(rows.map(({ value, operation_id }) => `${value} ${operation_id}`).sort(), ['1 operation 1', '2 operation 2'])
  await hub.close()
})

test('a record with a damaged line, a torn end or a lost end is read as far as it is whole, and goes on with a row about the gap', async (t) => {
  const { folder, hub, execution, runtime } = await measured(t, async () => {})
  await runtime.over(execution)
  await hub.log.persist()
  await hub.close()
  const path = recordPath(`${folder}/executions`, execution.execution_id)
  const whole = readFileSync(path)
  const bytes = Buffer.from(whole)
  bytes[200]! ^= 1
  writeFileSync(path, bytes)
  t.equal((await readTimeline(path, 0)).damaged, 1)
  writeFileSync(path, whole)
  truncateSync(path, whole.length - 10)
  t.equal((await readTimeline(path, 0)).damaged, 1)
  const counts = { actions: 6, moves: 2, values: 7, long_bytes: 0 }
  // A power cut may leave the length of a file without its last bytes.
  writeFileSync(path, Buffer.concat([whole.subarray(0, whole.length - 10), Buffer.alloc(10)]))
  const unwritten = new RunRecordFile({ folder: `${folder}/executions`, execution_id: execution.execution_id })
  t.equal(await unwritten.reopen(whole.length), whole.length - unwritten.length)
  t.equal(unwritten.length, whole.lastIndexOf('\n', whole.length - 2) + 1, 'up to the last whole row')
  truncateSync(path, whole.length - 10)
  for (const length of [whole.length, whole.lastIndexOf('\n', whole.length - 2) + 1, undefined]) {
    const restored = new RunRecordFile({ folder: `${folder}/again-${length}`, execution_id: execution.execution_id })
    cpSync(path, restored.path)
    await restoreRecord(execution, restored, length === undefined ? undefined : { ...counts, bytes: length })
    execution.record.add({ kind: 'test' })
    await restored.write()
    await restored.close()
    const kinds: string[] = []
    for await (const { rows } of rowsOfRecord(restored.path)) kinds.push(...rows.map((row) => JSON.parse(row).kind))
    const isLonger = length !== undefined && length < whole.length - 10
    t.same(kinds.slice(isLonger ? -1 : -2), isLonger ? ['test'] : ['gap', 'test'], `${length}`)
  }
})

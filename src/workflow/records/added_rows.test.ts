import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'tap'
import { keptIn } from '../../bench/persisted_runs.ts'
import { LabError } from '../../errors.ts'
import { openEvents } from '../../events/open.ts'
import { RunFiles } from '../../events/run_files.ts'
import { type RecordRow, RunRecordFile, recordPath } from '../../events/run_record_file.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import { silent } from '../../kit/log.ts'
import { oneArm, standing, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, liveRuntime } from '../../testing/workflow.ts'
import type { Execution } from '../runs/execution.ts'
import { RunState } from '../state/entry.ts'
import { RunRecord } from '../state/run_record.ts'
import { addRow } from './added_rows.ts'
import { AttachedFiles } from './attached_files.ts'
import { Notes } from './notes.ts'

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

test('a row whose caller repeats itself after a refusal of the disk is added once', async (t) => {
  const folder = t.testdir({ x: { 'record.jsonl': '' } })
  const state = new RunState()
  const record = new RunRecord(state)
  const file = new RunRecordFile({ folder, execution_id: 'x' })
  record.writeTo(file)
  const execution = { isOver: false, record, state, threads: new Map(), now: () => 1 } as unknown as Execution
  let refuses = true
  const persist = async () => {
    if (refuses) throw new LabError('storage', 'the disk is full')
    await file.write()
    await file.sync()
  }
  const around = { target: () => ({ execution, folder, persist }), now: () => 1 }
  const files = new RunFiles({ folder, most_bytes: () => 1e6, refused: () => {}, mustHaveRoom: async () => {} })
  const attached = new AttachedFiles({ ...around, files })
  const notes = new Notes(around)
  async function* pieces() {
    yield Buffer.from('a')
  }
  const about = { by: 'a key', name: 'a.txt', media_type: 'text/plain', note: null }
  const attach = () => attached.attach('x', { pieces: pieces(), about, announced: {} })
  const add = () => notes.add({ execution_id: 'x', path: file.path }, { by: 'a key', text: 'a note', tags: [] })
  for (let n = 0; n < 2; n++) {
    await t.rejects(attach(), { code: 'storage' })
    await t.rejects(add(), { code: 'storage' })
  }
  // Written and not synced: it is in the file, but not on the disk for certain.
  await file.write()
  await t.rejects(attach(), { code: 'storage' })
  await t.rejects(add(), { code: 'storage' })
  refuses = false
  await add()
  t.match(await attach(), { isNew: false, row: { name: 'a.txt' } })
  const kinds: string[] = []
  for await (const { rows } of rowsOfRecord(file.path)) kinds.push(...rows.map((row) => JSON.parse(row).kind))
  t.same(kinds, ['file', 'note'])
  await add()
  t.equal(record.waiting('note').length, 0)
  await file.close()
})

test('a file of a device that waits for four uploads while its run ends has its row after the end, and none stays of which no row tells', async (t) => {
  const folder = t.testdir({ x: { 'record.jsonl': '' } })
  const record = new RunRecord(new RunState())
  record.writeTo(new RunRecordFile({ folder, execution_id: 'x' }))
  const files = new RunFiles({ folder, most_bytes: () => 1e6, refused: () => {}, mustHaveRoom: async () => {} })
  const addTo = (execution_id: string, row: RecordRow) =>
    addRow(execution_id, row, { execution: undefined, folder, persist: async () => {} })
  record.attachments = { files, addRow: addTo }
  async function* pieces() {
    yield Buffer.from('a')
  }
  const attaching = { bytes: 1, row: () => ({ name: 'a.txt' }), isOver: () => true }
  let go = () => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  async function* slow(n: number) {
    await gone
    yield Buffer.from([n])
  }
  const uploads = [1, 2, 3, 4].map((n) => files.take('x', slow(n)))
  const waiting = record.attach(pieces(), attaching)
  go()
  await Promise.all([...uploads, waiting])
  const found: string[] = []
  for await (const { rows } of rowsOfRecord(recordPath(folder, 'x'))) found.push(...rows)
  t.match(JSON.parse(found[0]!), { kind: 'file', name: 'a.txt', bytes: 1 })
  rmSync(`${folder}/x/files`, { recursive: true })
  record.attachments = { files, addRow: async () => false }
  await t.rejects(record.attach(pieces(), attaching), { code: 'conflict', message: /was deleted/ })
  t.same(readdirSync(`${folder}/x/files`), [])
})

// A backup that is made while a run is open: the record of the run is at least as long as its state says.

import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { keptIn } from '../bench/persisted_runs.ts'
import { openEvents } from '../events/open.ts'
import { recordPath } from '../events/run_record_file.ts'
import { silent } from '../kit/log.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { begin, instantBench, liveRuntime } from '../testing/workflow.ts'
import { checkpointOf } from '../workflow/state/run.ts'
import { makeBackup } from './backup.ts'
import { openBackup, planOf, restore } from './restore.ts'

const topology = oneArm({ pads: ['pad_1'], nests: { nest: 'reader' }, operations: { reader: { read: 1 } } })
const reading = Array.from({ length: 400 }, () => ({ do: 'read', on: 'reader' }))
const workflow = workflowOf('measure', { plate: { ...standing('pad_1'), steps: [{ method: 'look' }] } }, { methods: { look: reading } })
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 5, queue: 1000 }, limits: { subscribers: 8 } }

test('a backup that is made while a run goes on has the whole record of that run', async (t) => {
  const { data, here } = { data: `${t.testdir({ here: {} })}/data`, here: `${t.testdirName}/here` }
  // They take their time to be packed, in the order of names between the records and the state.
  for (let i = 0; i < 4; i++) {
    const folder = `${data}/executions/f${i}`
    mkdirSync(folder, { recursive: true })
    writeFileSync(`${folder}/${'0'.repeat(64)}`, randomBytes(2_000_000))
  }
  const hub = await openEvents({ folder: data, config, log: silent })
  const perform = async () => {
    await new Promise(setImmediate)
    return { success: true, message: 'read', data: { text: 'x'.repeat(100) } }
  }
  const { runtime } = liveRuntime(topology, [workflow], { hub, live: instantBench({ perform }), keep: keptIn(hub) })
  const execution = await begin(runtime, { workflow: 'measure', run_mode: 'LIVE' })
  await hub.log.persist()
  const path = `${t.testdirName}/it.tar.gz`
  const sources = { data_dir: data, config: undefined, topologies: undefined, version: '1.2.3', system_id: 'system' }
  await makeBackup(sources, { with_keys: false, with_events: true }, { path, at: new Date(0) })
  t.notOk(execution.isOver, 'the run is open when the backup is made')
  execution.abort('that was all')
  await runtime.over(execution)
  await hub.close()
  const opened = await openBackup(path)
  await restore(opened, here, await planOf(opened, here, { all: true, keys: false }), new Date(0))
  await opened.archive.close()
  const again = await openEvents({ folder: here, config, log: silent })
  const saved = again.log.saved.runs.get(execution.execution_id)!
  const { bytes } = checkpointOf(saved.keys)!.record!
  const { size } = statSync(recordPath(`${here}/executions`, execution.execution_id))
  t.ok(bytes > 0 && size >= bytes, `the state names ${bytes} bytes, and the record has ${size}`)
  await again.close()
})

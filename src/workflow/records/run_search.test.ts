import { test } from 'tap'
import { type ExecutionRow, Records, type SubmissionRecord, type ThreadRecord } from './records.ts'
import { runsThat } from './run_search.ts'

const run: ExecutionRow = {
  ...{ execution_id: 'e1', workflow_name: 'elisa', workflow_hash: 'h', topology: 'bench', run_mode: 'LIVE' },
  ...{ status: 'IN_PROGRESS', reason: null, started_at: 10, ended_at: null },
}
const submission: SubmissionRecord = {
  ...{ submission_id: 's1', execution_id: 'e1', workflow_name: 'elisa', run_mode: 'LIVE', batch_mode: 'STANDALONE', group_ids: ['g1'] },
  ...{ variables: {}, operator_id: 'the night shift', submitted_at: 10, status: 'IN_PROGRESS', reason: null, ended_at: null },
}
const thread: ThreadRecord = {
  ...{ thread_id: 't1', execution_id: 'e1', thread_name: 'plate', template_name: 'plate', submission_id: 's1', group_id: 'g1' },
  ...{ status: 'MOVING', since: 11, pause_reason: null, last_error: null },
}

/** Two runs: `e1` with the plate P1, and `e2`, which people have described. */
function twoRuns(): Records {
  const records = new Records()
  records.accepted(run, submission)
  records.thread({ ...thread, labware_id: 'l1', barcode: 'P1' })
  const described = { project: 'kinase', tags: ['pilot', 'repeat'], notes: 'Second lot of buffer' }
  records.accepted(
    { ...run, execution_id: 'e2', run_mode: 'DEVICE_SIM' },
    { ...submission, ...described, submission_id: 's2', execution_id: 'e2' },
  )
  return records
}

test('a run is found by each of its members, and by several at once', (t) => {
  const records = twoRuns()
  const found = (query: Parameters<typeof runsThat>[0]) =>
    records
      .executions()
      .filter(runsThat(query, records))
      .map(({ execution_id }) => execution_id)
  t.same(found({}), ['e2', 'e1'])
  for (const [query, ids] of [
    [{ barcode: 'P1' }, ['e1']],
    [{ barcode: 'P' }, []],
    [{ mode: 'DEVICE_SIM' }, ['e2']],
    [{ workflow: 'elisa' }, ['e2', 'e1']],
    [{ workflow: 'elis' }, []],
    [{ status: 'COMPLETED' }, []],
    [{ tag: 'pilot' }, ['e2']],
    [{ tag: 'pil' }, []],
    [{ project: 'kinase' }, ['e2']],
    [{ text: 'BUFFER' }, ['e2']],
    [{ text: 'night' }, ['e2', 'e1']],
    [{ text: 'p1' }, ['e1']],
    [{ text: 'nothing' }, []],
    [{ barcode: 'P1', mode: 'DEVICE_SIM' }, []],
  ] as const)
    t.same(found(query), ids, JSON.stringify(query))
  t.end()
})

test('the runs with a labware are known by its barcode and its id, also when read again, until the run is removed', (t) => {
  const records = twoRuns()
  const again = Records.of(
    records.all().map(({ kind, record }) => ({ kind, ...record }) as Parameters<typeof Records.of>[0][number]),
    () => {},
  )
  const ids = (from: Records, name: string) => from.runsWith(name).map(({ execution_id }) => execution_id)
  for (const name of ['P1', 'l1']) t.same(ids(again, name), ['e1'])
  again.remove('e1')
  t.same(ids(again, 'P1'), [])
  t.end()
})

test('a later row of a thread that names no labware keeps what is known of it', (t) => {
  const records = twoRuns()
  records.thread({ ...thread, status: 'COMPLETED' })
  t.match(records.threadRow('e1', 't1'), { status: 'COMPLETED', labware_id: 'l1', barcode: 'P1' })
  records.thread({ ...thread, status: 'COMPLETED', labware_id: 'l1', barcode: 'P2' })
  t.match(records.threadRow('e1', 't1'), { barcode: 'P2' })
  t.end()
})

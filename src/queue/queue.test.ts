// The queue without a service: what a crash between two writes leaves, the clock by which entries begin, and its bounds.

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { makeBackup } from '../care/backup.ts'
import { openBackup, planOf, restore } from '../care/restore.ts'
import { VirtualClock } from '../kit/clock.ts'
import { byHand, oneArm, workflowOf } from '../testing/documents.ts'
import { emptyBench, testRuntime } from '../testing/workflow.ts'
import { ExecutionTrackingSink } from '../workflow/records/tracking_sink.ts'
import type { Runtime } from '../workflow/runtime.ts'
import { withdraw } from '../workflow/submission_ids.ts'
import { Queue, type QueueOptions } from './queue.ts'

const documents = [oneArm({ pads: ['pad'] }), workflowOf('waits', { plate: { ...byHand('pad'), steps: [{ wait_for: 'go' }] } })]
const id = (n: number) => `00000000-0000-4000-8000-${String(900_000 + n).padStart(12, '0')}`

type Around = Partial<QueueOptions> & { runtime?: Runtime }

/** A queue whose wall clock is `wall.at`, Unix s, with a monotonic clock that is set apart. */
async function opened(t: Test, { folder = t.testdir({}), runtime = recordingRuntime(), ...more }: Around = {}) {
  const wall = { at: 1_800_000_000, isSynced: true as boolean | null }
  const clock = new VirtualClock()
  const paused: string[] = []
  const options: QueueOptions = {
    ...{ folder, runtime, clock, bench: emptyBench, report: ({ message }) => t.fail(message) },
    devices: { mustBeKnown: () => {}, trouble: () => undefined, notReady: () => undefined },
    limits: () => ({ open_simulations: 100, open_runs: 100, open_threads: 1000 }),
    settings: () => ({ open_runs: 1, resume_after_restart: false }),
    ...{ areRecordsWhole: () => true, stopped: () => [], isUnsafe: () => undefined, isBehindLog: () => false },
    wall: () => wall.at,
    isSynced: () => wall.isSynced,
    paused: (message) => paused.push(message),
    began: () => {},
    ...more,
  }
  const queue = await Queue.open(options)
  t.teardown(() => queue.close())
  /** Both clocks go on, in steps that are shorter than a jump: a look may come between them. */
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0; left -= 4) {
      wall.at += Math.min(4, left)
      await clock.advance(Math.min(4, left) * 1000)
      await settle(queue)
    }
  }
  return { queue, runtime, wall, clock, paused, folder, pass }
}

/** Waits until something is so, while the disk is written. */
async function comes(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Waits for the looks that are due. */
async function settle(queue: Queue): Promise<void> {
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  await queue.settled()
}

const request = (n: number, more: object = {}) => ({
  submission: {
    ...{ submission_id: id(n), workflow: 'waits', run_mode: 'PURE_SIM' as const, groups: [], batch_mode: 'STANDALONE' as const },
    ...{ variables: {}, operator_id: null },
  },
  ...{ start_at: null, requires: { devices: [], labware: [] }, on_failure: 'stop' as const, may_be_passed: false },
  ...more,
})
/** A runtime whose records follow its events, as those of a service do. */
function recordingRuntime(): Runtime {
  let sink: ExecutionTrackingSink | undefined
  const { runtime } = testRuntime(documents, { onTold: (event) => sink?.onEvent(event) })
  sink = new ExecutionTrackingSink({ stores: [runtime.records], find: (execution_id) => runtime.runs.get(execution_id) })
  return runtime
}

const person = { by: 'tablet', operator: 'Ann' }

type Stored = { entries: { state: string; entry_id: string; execution_id: string | null }[]; sha256?: string }

/** Changes the file as a crash may have left it. */
function rewrite(folder: string, change: (stored: Stored) => void): void {
  const { sha256: _, ...stored } = JSON.parse(readFileSync(`${folder}/queue.json`, 'utf8'))
  change(stored)
  writeFileSync(`${folder}/queue.json`, JSON.stringify(stored))
}

test('an entry whose start was cut off before its submission waits again, and the queue is paused', async (t) => {
  const { queue, folder } = await opened(t)
  await queue.pause(person)
  await queue.add(request(1), person)
  await queue.close()
  rewrite(folder, (stored) => Object.assign(stored, { paused: null }) && Object.assign(stored.entries[0]!, { state: 'starting' }))
  const after = await opened(t, { folder })
  t.match(after.queue.view, { state: 'paused', paused: { reason: 'start' }, entries: [{ state: 'waiting', why_it_waits: null }] })
  t.match(after.paused, [/the queue is paused: the service started with an entry in the queue/])
  await after.pass(100)
  t.equal(after.runtime.runs.all().length, 0, 'nothing begins')
  await after.queue.resume()
  t.equal(after.runtime.runs.all().length, 1)
})

test('an entry whose submission is known has begun, whatever its file says, and does not begin again', async (t) => {
  for (const state of ['waiting', 'starting']) {
    const runtime = recordingRuntime()
    const before = await opened(t, { runtime, folder: t.testdir({}) })
    const { execution_id } = await before.queue.add(request(1), person)
    t.type(execution_id, 'string')
    await before.queue.close()
    rewrite(before.folder, ({ entries }) => Object.assign(entries[0]!, { state, execution_id: null }))
    const after = await opened(t, { runtime, folder: before.folder })
    t.match(after.queue.view.entries, [{ state: 'running', execution_id }], state)
    await after.queue.resume()
    t.equal(runtime.runs.all().length, 1)
    runtime.runs.get(execution_id!)!.abort('an operator stopped it')
    await comes(() => after.queue.view.entries.length === 0)
    t.match(after.queue.view, {
      state: 'paused',
      paused: { reason: 'run_ended', message: /ended ABORTED/ },
      ended: [{ outcome: 'ABORTED' }],
    })
  }
})

test('an entry that may have run waits for a person where records of runs were lost', async (t) => {
  const folder = await begunAndCut(t)
  const { queue, runtime } = await opened(t, { folder, areRecordsWhole: () => false })
  const [entry] = queue.view.entries
  t.match(entry, { state: 'waiting', needs_person: true, why_it_waits: /nobody knows whether it has run.*POST \/api\/queue\/.*\/start/ })
  await queue.resume()
  t.equal(runtime.runs.all().length, 0)
  t.type(await queue.startNow(id(1), person), 'string')
})

test('an entry whose run was aborted before it was acknowledged waits for a person, as another submission', async (t) => {
  const runtime = recordingRuntime()
  const before = await opened(t, { runtime })
  const { execution_id } = await before.queue.add(request(1), person)
  await before.queue.close()
  rewrite(before.folder, ({ entries }) => Object.assign(entries[0]!, { state: 'starting', execution_id: null }))
  runtime.runs.get(execution_id!)!.abort('the service restarted')
  await comes(() => runtime.records.execution(execution_id!)?.status === 'ABORTED')
  runtime.runs.forget(execution_id!)
  const { queue } = await opened(t, { folder: before.folder, runtime })
  t.match(queue.view, {
    state: 'paused',
    entries: [{ entry_id: id(1), state: 'waiting', needs_person: true, why_it_waits: /was aborted; look/ }],
  })
  await queue.resume()
  t.equal(runtime.runs.all().length, 0, 'it does not begin by itself')
  t.not(await queue.startNow(id(1), person), execution_id)
})

async function begunAndCut(t: Test): Promise<string> {
  const { queue, folder } = await opened(t)
  await queue.add(request(1), person)
  await queue.close()
  rewrite(folder, ({ entries }) => Object.assign(entries[0]!, { state: 'starting', execution_id: null }))
  return folder
}

test('an entry whose run left no record ends, and pauses the queue', async (t) => {
  const { queue, folder } = await opened(t)
  await queue.add(request(1), person)
  await queue.add(request(2), person)
  await queue.close()
  const after = await opened(t, { folder })
  t.match(after.queue.view, { paused: { reason: 'run_ended', message: /nobody knows how the run .* ended/ }, ended: [{ outcome: null }] })
  t.match(after.queue.view.entries, [{ entry_id: id(2), state: 'waiting' }])
})

test('the configuration may let the queue go on after a start, but not after a stop', async (t) => {
  const settings = () => ({ open_runs: 1, resume_after_restart: true })
  t.match((await opened(t, { folder: await withEntryCut(t), settings })).queue.view, { state: 'running' })
  t.match((await opened(t, { folder: await withEntryCut(t), settings, stopped: () => ['shaker-1'] })).queue.view, { state: 'paused' })
  t.match((await opened(t, { folder: await withEntryCut(t), settings, isUnsafe: () => 'safe mode' })).queue.view, { state: 'paused' })
})

test('the queue of a restored backup is paused, whatever the configuration says: its entries may have run since', async (t) => {
  const data_dir = await withEntryCut(t)
  const path = `${data_dir}/backups/it.tar.gz`
  mkdirSync(`${data_dir}/backups`)
  const made_at = new Date('2026-11-20T17:15:30Z')
  await makeBackup(
    { data_dir, config: undefined, topologies: undefined, version: '1.2.3', system_id: 'bench-7' },
    { with_keys: false, with_events: false },
    { path, at: made_at },
  )
  const { queue, folder } = await opened(t, { folder: data_dir })
  await queue.remove(id(1))
  await queue.close()
  const backup = await openBackup(path)
  t.teardown(() => backup.archive.close())
  await restore(backup, folder, await planOf(backup, folder, { all: true, keys: false }), new Date(1_800_000_000_000))
  const settings = () => ({ open_runs: 1, resume_after_restart: true })
  const after = await opened(t, { folder, settings })
  const message = /^a backup of 2026-11-20 17:15 UTC was restored, and entries may have run since; remove those that have/
  t.match(after.queue.view, { paused: { reason: 'start', by: null, message }, entries: [{ entry_id: id(1) }] })
  t.match(after.paused, [/a backup of 2026-11-20 17:15 UTC was restored/], 'a person is called')
  await after.queue.resume()
  await after.queue.close()
  t.match((await opened(t, { folder, settings })).queue.view, { state: 'running' }, 'once')
})

async function withEntryCut(t: Test): Promise<string> {
  const { queue, folder } = await opened(t, { folder: t.testdir({}) })
  await queue.add(request(1, { start_at: 1_900_000_000 }), person)
  await queue.close()
  return folder
}

test('an entry begins at its time, once, and not earlier when the clock is set back', async (t) => {
  const { queue, runtime, wall, pass } = await opened(t)
  await queue.add(request(1, { start_at: wall.at + 100 }), person)
  await pass(60)
  t.equal(runtime.runs.all().length, 0)
  wall.at -= 120
  await pass(60)
  t.equal(runtime.runs.all().length, 0)
  await pass(100)
  await comes(() => runtime.runs.all().length === 1)
  wall.at -= 120
  await pass(200)
  t.equal(runtime.runs.all().length, 1, 'once')
})

test('a clock that is set forward begins nothing: the entry waits for a person', async (t) => {
  const { queue, runtime, wall, pass } = await opened(t)
  await queue.add(request(1, { start_at: wall.at + 1000 }), person)
  await queue.add(request(2, { start_at: wall.at + 9000 }), person)
  await pass(60)
  wall.at += 5000
  await pass(60)
  await comes(() => queue.view.entries[0]!.needs_person)
  const [first, second] = queue.view.entries
  t.match(first, { needs_person: true, why_it_waits: /the clock was set forward past its start/ })
  t.match(second, { needs_person: false, why_it_waits: /it starts at/ })
  t.equal(runtime.runs.all().length, 0)
  await queue.move(id(1), { start_at: wall.at + 100 })
  await pass(200)
  await comes(() => runtime.runs.all().length === 1)
})

test('a start that passed while the service was off waits for a person, and none begins before the clock is set', async (t) => {
  const before = await opened(t)
  await before.queue.add(request(1, { start_at: before.wall.at + 100 }), person)
  await before.queue.add(request(2, { start_at: before.wall.at + 4000 }), person)
  await before.queue.close()
  const after = await opened(t, { folder: before.folder })
  after.wall.isSynced = false
  after.wall.at = before.wall.at
  await after.queue.resume()
  await after.pass(200)
  t.match(after.queue.view.entries[0], { why_it_waits: /the clock of this computer is not set by a time server yet/ })
  after.wall.isSynced = true
  after.wall.at += 3600
  await after.pass(60)
  await comes(() => after.queue.view.entries[0]!.needs_person)
  t.match(after.queue.view.entries, [
    { needs_person: true, why_it_waits: /its start passed before the service could begin it/ },
    { needs_person: false },
  ])
  t.equal(after.runtime.runs.all().length, 0)
  await after.pass(200)
  await comes(() => after.runtime.runs.all().length === 1)
})

test('an entry whose start the clock jumped over is held, also where the disk refuses to keep that at first', async (t) => {
  const told: string[] = []
  const { queue, runtime, wall, folder, pass } = await opened(t, { report: ({ message }) => told.push(message) })
  await queue.add(request(1, { start_at: wall.at + 1000 }), person)
  await pass(60)
  renameSync(folder, `${folder}.away`)
  writeFileSync(folder, 'in the way')
  wall.at += 5000
  await pass(60)
  t.equal(told.length, 1, 'told once')
  rmSync(folder)
  renameSync(`${folder}.away`, folder)
  await pass(60)
  await comes(() => queue.view.entries[0]!.needs_person)
  t.match(queue.view.entries, [{ needs_person: true, why_it_waits: /the clock was set forward past its start/ }])
  t.equal(runtime.runs.all().length, 0)
})

test('an entry after a run that does not end well waits for a person', async (t) => {
  const { queue, runtime } = await opened(t)
  const { submission } = request(1)
  const { execution_id } = await runtime.submit(submission, person)
  await queue.add(request(2, { start_at: { after: execution_id } }), person)
  t.match(queue.view.entries, [{ needs_person: false, why_it_waits: /it starts when run .* has ended/ }])
  runtime.runs.get(execution_id)!.abort('an operator stopped it')
  await runtime.over(runtime.runs.get(execution_id)!)
  queue.lookSoon()
  await comes(() => queue.view.entries[0]!.needs_person)
  t.match(queue.view.entries, [
    { why_it_waits: /after which it was to start, ended ABORTED; see that the bench is well, then start it now/ },
  ])
  t.equal(runtime.runs.all().length, 1)
  t.type(await queue.startNow(id(2), person), 'string')
})

test('an entry whose submission is withdrawn never begins, says so, and holds none behind it', async (t) => {
  const { queue, runtime } = await opened(t)
  await queue.pause(person)
  await queue.add(request(1), person)
  await queue.add(request(2), person)
  withdraw(runtime.records, id(1))
  await queue.resume()
  t.match(queue.view.entries, [
    { entry_id: id(2), state: 'running' },
    { entry_id: id(1), state: 'waiting', why_it_waits: /the submission was withdrawn, so the entry never begins; remove the entry/ },
  ])
  await t.rejects(queue.startNow(id(1), person), { code: 'conflict', message: /was withdrawn/ })
})

test('a repeated request is the same also after somebody has given the entry another start', async (t) => {
  const { queue } = await opened(t)
  const asked = () => request(1, { start_at: 1_900_000_000 })
  await queue.add(asked(), person)
  for (const start_at of [1_910_000_000, 1_920_000_000]) await queue.move(id(1), { start_at })
  t.match(await queue.add(asked(), person), { start_at: 1_920_000_000 })
  await t.rejects(queue.add(request(1, { start_at: 1_920_000_000 }), person), { code: 'conflict', message: /asks for something else/ })
})

test('a pause that comes while a resume is stored stays', async (t) => {
  const { queue, runtime } = await opened(t)
  await queue.pause(person)
  await queue.add(request(1), person)
  await Promise.all([queue.resume(), queue.pause({ by: 'panel' })])
  t.match(queue.view, { state: 'paused' })
  t.equal(runtime.runs.all().length, 0)
})

test('an entry that is added while a device is stopped that it needs pauses the queue', async (t) => {
  const { queue, paused } = await opened(t, { stopped: () => ['shaker-1'] })
  await queue.add(request(1, { start_at: 1_900_000_000 }), person)
  t.match(queue.view, { state: 'running' })
  await queue.add(request(2, { requires: { devices: ['shaker-1'], labware: [] } }), person)
  t.match(queue.view, { state: 'paused', paused: { reason: 'stop', message: /shaker-1 is stopped/ } })
  t.match(paused, [/shaker-1 is stopped/])
})

test('an entry after another one waits for a person if that is removed', async (t) => {
  const { queue } = await opened(t)
  await queue.pause(person)
  await queue.add(request(1), person)
  await queue.add(request(2, { start_at: { after: id(1) } }), person)
  await queue.remove(id(1))
  t.match(queue.view.entries, [{ entry_id: id(2), needs_person: true, why_it_waits: /after which it was to start, was removed/ }])
})

test('the queue has bounds, and keeps the newest fifty that have ended', async (t) => {
  const { queue, runtime, folder } = await opened(t)
  for (let n = 0; n < 60; n++) {
    const { execution_id } = await queue.add(request(n), person)
    runtime.runs.get(execution_id!)!.abort('done')
    await comes(() => queue.view.ended[0]?.entry_id === id(n))
    await queue.resume()
  }
  t.equal(queue.view.ended.length, 50)
  await queue.pause(person)
  await queue.add(request(100), person)
  await queue.close()
  rewrite(folder, (stored) => {
    const [entry] = stored.entries
    stored.entries = Array.from({ length: 999 }, (_, n) => ({ ...entry!, entry_id: id(100 + n) }))
  })
  const full = await opened(t, { folder, runtime })
  await full.queue.add(request(2000), person)
  const late = full.queue.add(request(2001), person)
  await t.rejects(late, { code: 'overloaded', message: /the queue is full: it has 1,000 entries/ })
  t.equal(full.queue.view.waiting, 1000)
})

// Kills around the moments at which labware comes into the state, and leaves it.

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { openEvents } from '../events/open.ts'
import type { StateSource } from '../events/states.ts'
import { byHand, oneArm, workflowOf } from '../testing/documents.ts'
import { begin, Kept, testRuntime, until } from '../testing/workflow.ts'
import { Records } from '../workflow/records/records.ts'
import { StandingLabwareStore } from '../workflow/standing_labware.ts'
import { keptIn, takeUp } from './persisted_runs.ts'

const quiet = { info() {}, warn() {}, error() {} }
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 10_000, queue: 1000 }, limits: { subscribers: 1 } }

async function opened(t: Test, folder: string) {
  const hub = await openEvents({ folder, config, log: quiet })
  t.teardown(() => hub.close())
  return hub
}

const its = { template: 'lid', type: 'lid', kind: 'plate', barcode: null, tips: null, tips_left: null }
const lid = { seat: 'pad_2', labware_id: 'lid-1', name: 'lid', ...its }

/** Labware that stands on the bench, and is told that all runs are taken up. */
function standingOf(keys: ReadonlyMap<string, unknown>) {
  const stored: object[] = []
  const standing = new StandingLabwareStore({
    environments: { topology: { name: 'island' } as never },
    store: async (what) => stored.push(what),
    untilStored: (work) => work(),
    lost: () => {},
  })
  standing.recall(keys)
  return { standing, stored }
}

test('a copy of the state that is made while the bench comes to rest has all labware, or does not speak of it', async (t) => {
  const root = t.testdir({ data: {} })
  const folder = join(root, 'data')
  const copy = root
  const hub = await opened(t, folder)
  const { standing } = standingOf(
    new Map<string, unknown>([
      ['topology', 'island'],
      ['LIVE lid-1', lid],
    ]),
  )
  let writes = 0
  let isCopied = false
  hub.states.before = async () => {
    if (writes++ === 0) {
      standing.takenUp()
      await standing.resting
    } else if (!isCopied) {
      isCopied = true
      cpSync(folder, join(copy, 'cut'), { recursive: true })
    }
  }
  standing.writeTo(keptIn(hub)('LIVE')!)
  await hub.log.persist()
  await hub.log.persist()
  t.ok(isCopied)
  t.match(readdirSync(join(copy, 'cut', 'executions')), ['state-000001.jsonl'])
  const after = await opened(t, join(copy, 'cut'))
  const bench = after.log.saved.runs.get('bench')
  if (bench)
    t.same(
      [...bench.keys],
      [
        ['topology', 'island'],
        ['LIVE lid-1', lid],
      ],
    )
})

const topology = oneArm({ pads: ['pad'] })
const workflow = workflowOf('waits', { plate: { ...byHand('pad'), steps: [{ wait_for: 'go' }] } })

test('a run of an older version is not taken up either where the first start of this version is killed', async (t) => {
  const kept = new Kept()
  const before = testRuntime([topology, workflow], { keep: () => kept })
  const execution = await begin(before.runtime, { workflow: 'waits' })
  await until(() => JSON.stringify([...(kept.all.at(-1) ?? [])]).includes('AWAITING_EVENT'))
  const keys = kept.all.at(-1)!
  execution.abort('that was all')

  const root = t.testdir({ data: {} })
  const folder = join(root, 'data')
  const copy = root
  const old = await openEvents({ folder, config, log: quiet })
  const texts = new Map(
    [...keys].filter(([key]) => !/^(LIVE|topology|PURE_SIM)/.test(key)).map(([key, value]) => [key, JSON.stringify(value)]),
  )
  const source: StateSource = { standing: texts, changes: () => [...texts] }
  old.states.add(execution.execution_id, source)
  await old.log.persist()
  await old.close()
  const [name] = readdirSync(join(folder, 'executions'))
  const path = join(folder, 'executions', name!)
  writeFileSync(path, readFileSync(path, 'utf8').replace('{"format":4}', '{"format":1}'))
  const start = async (folder: string, onFailed: () => void) => {
    const hub = await opened(t, folder)
    const failed: string[] = []
    const { runtime } = testRuntime([topology, workflow], { records: new Records(), ids: 1_000_000 })
    runtime.load('bench')
    // The log is long.
    const events = async function* () {
      await hub.log.persist()
      onFailed()
      yield* []
    }
    await takeUp(
      { runtime, strandLabware: () => [] },
      {
        folder: join(folder, 'executions'),
        saved: hub.log.saved,
        states: keptIn(hub)('LIVE')!,
        events,
        failed: (_, reason) => failed.push(reason),
        lost: () => {},
        damaged: () => {},
      },
    )
    const open = runtime.runs.all().length
    for (const one of runtime.runs.all()) one.abort('that was all')
    return { open, failed }
  }
  let isCopied = false
  const first = await start(folder, () => {
    if (!isCopied) cpSync(folder, join(copy, 'cut'), { recursive: true })
    isCopied = true
  })
  t.match(first, { open: 0, failed: [/an older version/] })
  t.match(await start(join(copy, 'cut'), () => {}), { open: 0, failed: [/an older version/] })
})

test('what is dropped while the changes of others are gone through is gone from the card', async (t) => {
  const folder = t.testdir()
  const hub = await opened(t, folder)
  const drops = { isOn: false }
  hub.states.add('long', {
    standing: new Map([['text', '1']]),
    *changes() {
      yield ['text', JSON.stringify('x'.repeat(300_000))] as const
      if (drops.isOn) hub.states.drop('short')
      yield ['count', '1'] as const
    },
  })
  hub.states.add('short', { standing: new Map([['count', '1']]), changes: () => [['count', '1']] })
  await hub.log.persist()
  drops.isOn = true
  await hub.log.persist()
  await hub.log.persist()
  await hub.close()
  const after = await opened(t, folder)
  t.same([...after.log.saved.runs.keys()], ['long'])
})

test('while labware.json cannot be written it is tried once at a time, however many runs end', async (t) => {
  let tries = 0
  let next = () => {}
  let isFull = true
  const standing = new StandingLabwareStore({
    environments: { topology: null },
    store: async () => {
      tries++
      if (isFull) throw new Error('full')
    },
    untilStored: async (work) => {
      for (;;) {
        const isDone = await work().then(
          () => true,
          () => false,
        )
        if (isDone) return
        await new Promise<void>((resolve) => {
          const before = next
          next = () => {
            before()
            resolve()
          }
        })
      }
    },
    lost: () => {},
  })
  const states = new Kept()
  const { runtime } = testRuntime([topology, workflow])
  const { environment } = await begin(runtime, { workflow: 'waits' })
  for (let i = 0; i < 20; i++) {
    const run = { execution_id: `run-${i}`, environment }
    standing.began(run, states)
    standing.ended(run)
    await new Promise(setImmediate)
  }
  for (const run of runtime.runs.all()) run.abort('that was all')
  const tick = async () => {
    const before = next
    next = () => {}
    tries = 0
    before()
    await new Promise(setImmediate)
    return tries
  }
  t.equal(await tick(), 1)
  isFull = false
  await tick()
  await standing.resting
  t.ok(tries > 0)
})

// A process that opens the events of a data folder with the state of a run of many threads in it, and without.

import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openEvents } from '../../../src/events/open.ts'
import type { StateSource } from '../../../src/events/states.ts'
import { silent } from '../../../src/kit/log.ts'
import { begin, Kept, testRuntime } from '../../../src/testing/workflow.ts'
import { answerParent, ownFolder } from '../child.ts'
import { sample } from '../events/sample.ts'
import { laneTopology, laneWorkflow } from './lanes.ts'

export type Restarted = { with_ms: number; without_ms: number; parse_ms: number }

const lanes = 50
const config = { system_id: 'system', events: { segment_mib: 8, commit_ms: 100, queue: 1000 }, limits: { subscribers: 8 } }

answerParent({}, async ({ threads, events }: { threads: number; events: number }): Promise<Restarted> => {
  const folder = ownFolder()
  await write(folder, events, await stateOf(threads))
  const with_ms = await opening(folder)
  const parse_ms = await parsing(folder)
  rmSync(join(folder, 'executions'), { recursive: true })
  return { with_ms, without_ms: await opening(folder), parse_ms }
})

/** Returns the state of a run that has begun. */
async function stateOf(threads: number) {
  let journal: StateSource | undefined
  class Held extends Kept {
    override add(id: string, source: StateSource): void {
      journal = source
      super.add(id, source)
    }

    protected override written(): void {}
  }
  const { runtime } = testRuntime([laneTopology(lanes), laneWorkflow(lanes)], { keep: () => new Held() })
  const groups = Array.from({ length: threads / lanes }, (_, i) => ({ group_id: `g${i}`, members: {} }))
  const execution = await begin(runtime, { workflow: 'to_and_fro', groups })
  execution.pause('manual')
  while (execution.live().some(({ status }) => status.current !== 'PAUSED')) await new Promise(setImmediate)
  const standing = new Map(journal!.standing)
  execution.abort('that was all')
  await runtime.over(execution)
  return standing
}

/** Writes so many events of ten thousand a run, and behind them the state of a run that is open. */
async function write(folder: string, events: number, standing: ReadonlyMap<string, string>): Promise<void> {
  const hub = await openEvents({ folder, config, log: silent })
  for (let n = 0; n < events; n++) {
    const { event_name, context } = sample(n)
    hub.emit(event_name, context, `run ${Math.floor(n / 10_000)}`)
    if (n % 500 === 0) await hub.log.backpressure()
  }
  hub.states.add('run', { standing, changes: () => standing })
  hub.emit('CUSTOM.of_the_run.STEP', {}, 'run')
  await hub.log.persist()
  await hub.close()
}

function opening(folder: string): Promise<number> {
  return leastOf(async () => {
    const hub = await openEvents({ folder, config, log: silent })
    return () => hub.close()
  })
}

function parsing(folder: string): Promise<number> {
  const [name] = readdirSync(join(folder, 'executions'))
  return leastOf(() => {
    for (const line of readFileSync(join(folder, 'executions', name!), 'utf8').split('\n')) if (line) JSON.parse(line)
  })
}

/** Returns the least milliseconds of five rounds. What a round returns is called after its time was taken. */
async function leastOf(round: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) {
    const began = performance.now()
    const end = await round()
    least = Math.min(least, performance.now() - began)
    if (typeof end === 'function') await end()
  }
  return least
}

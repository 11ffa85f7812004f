import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/kit/clock.ts'
import { Queue } from '../../src/queue/queue.ts'
import { byHand, oneArm, workflowOf } from '../../src/testing/documents.ts'
import { emptyBench, testRuntime } from '../../src/testing/workflow.ts'
import { bench, median, row } from './bench.ts'

const documents = [oneArm({ pads: ['pad'] }), workflowOf('waits', { plate: { ...byHand('pad'), steps: [{ wait_for: 'go' }] } })]
/** Entries that end before the size of the file is compared with that after as many again. */
const ended = 60

/** A list of a thousand entries costs per entry as much as one of a hundred, and the file does not grow with entries that have ended. */
export const queueBench = bench({
  name: 'queue',
  summary: 'the list of the queue after a change, by the number of its entries, and its file by the number of those that have ended',
  limit: 'fewer',
  options: { entries: 1000, rounds: 7 },
  async run({ entries, rounds }) {
    const [few, many] = [await listed(entries / 10, rounds), await listed(entries, rounds)]
    const [once, again] = await sizes()
    return [
      row(`${entries} entries are listed`, 'ms', many, { target: { of: 'value', most: 50, wall: true } }),
      row(`${entries} entries, for each`, 'us', (many / entries) * 1000, {
        limit: (few / (entries / 10)) * 1000,
        target: { of: 'ratio', most: 2, wall: true },
      }),
      row(`the file after ${2 * ended} entries have ended`, 'bytes', again, { limit: once, target: { of: 'ratio', most: 1.05 } }),
    ]
  },
})

/** Resolves with the time in which the queue is listed as JSON after it has changed, ms. */
function listed(entries: number, rounds: number): Promise<number> {
  return withQueue(async (queue) => {
    await queue.pause({ by: 'bench' })
    for (let n = 0; n < entries; n++) await queue.add(request(n), { by: 'bench' })
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      await queue.move(idOf(round), { to: 'last' })
      const began = performance.now()
      JSON.stringify(queue.view)
      times.push(performance.now() - began)
    }
    return median(times)
  })
}

/** Resolves with the bytes of the file after some entries have ended, and after as many again. */
function sizes(): Promise<[number, number]> {
  return withQueue(async (queue, runtime, folder) => {
    const end = async (from: number) => {
      for (let n = from; n < from + ended; n++) {
        const { execution_id } = await queue.add(request(n), { by: 'bench' })
        const run = runtime.runs.get(execution_id!)!
        run.abort('the benchmark goes on')
        await runtime.over(run)
        while (queue.view.ended[0]?.entry_id !== idOf(n)) await new Promise((resolve) => setTimeout(resolve, 1))
        await queue.resume()
      }
      return statSync(join(folder, 'queue.json')).size
    }
    return [await end(0), await end(ended)]
  })
}

type Runtime = ReturnType<typeof testRuntime>['runtime']

async function withQueue<Result>(use: (queue: Queue, runtime: Runtime, folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-queue-'))
  const { runtime } = testRuntime(documents)
  const queue = await Queue.open({
    ...{ folder, runtime, clock: systemClock, bench: emptyBench, report: () => {} },
    devices: { mustBeKnown: () => {}, trouble: () => undefined, notReady: () => undefined },
    limits: () => ({ open_simulations: 100, open_runs: 100, open_threads: 1000 }),
    settings: () => ({ open_runs: 1, resume_after_restart: false }),
    ...{ areRecordsWhole: () => true, stopped: () => [], isUnsafe: () => undefined, isBehindLog: () => false },
    ...{ wall: () => Date.now() / 1000, isSynced: () => true, paused: () => {}, began: () => {} },
  })
  try {
    return await use(queue, runtime, folder)
  } finally {
    await queue.close()
    rmSync(folder, { recursive: true })
  }
}

function idOf(n: number): string {
  return `00000000-0000-4000-8000-${String(900_000 + n).padStart(12, '0')}`
}

function request(n: number) {
  const submission = {
    submission_id: idOf(n),
    workflow: 'waits',
    run_mode: 'PURE_SIM' as const,
    groups: [],
    variables: {},
    operator_id: null,
  }
  return {
    submission: { ...submission, batch_mode: 'STANDALONE' as const },
    ...{ start_at: null, requires: { devices: [], labware: [] }, on_failure: 'stop' as const, may_be_passed: false },
  }
}

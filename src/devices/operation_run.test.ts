import { test } from 'tap'
import { deferred } from '../kit/deferred.ts'
import { HandClock } from '../testing/hand_clock.ts'
import { OperationRun } from './operation_run.ts'
import type { OperationRecord } from './records.ts'
import type { Task } from './task.ts'

test('an operation that ends while the computer stands still, for longer than it may take, is a success', async (t) => {
  const clock = new HandClock()
  const task = { asked_s: 10, margin_s: 5 } as Task
  const run = new OperationRun({ operation: 'shake' } as OperationRecord, {
    ...{ clock, task, time_scale: 1, execution_id: null, by: null },
    abort: new AbortController(),
  })
  const { promise: driving, resolve: ends } = deferred<void>()
  const ended = run.end(driving)
  clock.stall(60_000)
  clock.ring()
  ends()
  await ended
  t.equal(clock.timers, 0)
})

// Withdraws the orders and the waiting positions of a journey from a bench.

import { LabError } from '../errors.ts'
import { Execution, Submission } from './answers.ts'
import { Refused, type RemoteBench } from './benches.ts'
import { groupId, isOver, type JourneyContext, type Trip } from './phases.ts'
import type { BenchRun } from './state.ts'

/**
 * Ends a run whose labware has not come, and makes sure that an order still on its way to the bench never begins. A run that has its labware goes on.
 * Rejects with `disconnected` where the bench is away.
 */
export async function withdraw(bench: RemoteBench, run: BenchRun): Promise<void> {
  const execution_id = run.execution_id ?? (await begun(bench, run))
  if (execution_id === undefined) return
  const execution = await bench.find(`/api/executions/${execution_id}`, Execution)
  for (const thread of execution?.threads ?? []) {
    const isOfJourney = run.thread_id === null ? thread.group_id === groupId : thread.thread_id === run.thread_id
    const isEmpty = thread.position === null && thread.held_by === null
    if (isOfJourney && isEmpty && !isOver(thread)) await bench.ask('POST', `/api/threads/${thread.thread_id}/stop`, {})
  }
}

/** Finds the run of an order whose answer was lost; undefined if the bench has none, and will never have one. */
async function begun(bench: RemoteBench, { submission_id }: BenchRun): Promise<string | undefined> {
  const path = `/api/submissions/${submission_id}`
  const find = async () => (await bench.find(path, Submission))?.execution_id
  const known = await find()
  if (known !== undefined) return known
  try {
    await bench.ask('DELETE', path)
    return undefined
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error
    // The order arrived between the two questions.
    return find()
  }
}

/** Withdraws the runs of the journey and releases its hand-over positions. A bench that is away gets the withdrawal when it answers. */
export async function giveBack(trip: Trip, its: JourneyContext): Promise<void> {
  for (const run of [trip.state.run, trip.state.release]) if (run) await its.withdraw(trip, run)
  await its.release(trip)
}

/** Withdraws a run now. Returns whether the bench has done it. */
export async function tryToWithdraw(bench: () => RemoteBench, run: BenchRun): Promise<boolean> {
  try {
    await withdraw(bench(), run)
    return true
  } catch (error) {
    if (error instanceof LabError) return false
    throw error
  }
}

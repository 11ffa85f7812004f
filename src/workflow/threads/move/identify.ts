// Reads the barcode of labware with a scanner of the topology, before the labware is used or carried on. Labware that is not known goes no further.

import { messageOf } from '../../../errors.ts'
import { scannerAt, scannerOf } from '../../plans/scanners.ts'
import type { ThreadStatus } from '../../state/statuses.ts'
import { categoryOf } from '../action/causes.ts'
import { LidCarrier, type Mover } from '../lid_carrier.ts'
import { Interrupt } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'
import type { MoveRun } from './move.ts'
import { type DueScan, scan } from './scan.ts'

/** Thrown through a move whose labware, in the gripper, is not known. */
export class Unidentified {
  readonly due: DueScan
  readonly cause: unknown

  constructor(due: DueScan, cause: unknown) {
    this.due = due
    this.cause = cause
  }
}

/**
 * Scans labware that stands at a position with a scanner, once for each time that it comes there. Returns undefined if no scan is due. A barcode that
 * is wrong or cannot be read holds the thread until somebody decides.
 */
export function identify(thread: LabwareThread): Promise<void> | undefined {
  return dueAt(thread) ? identified(thread) : undefined
}

/** Scans labware that has just come onto the deck, or that a restart found there. A pause of the run holds the thread first. */
export async function identifyAtStart(thread: LabwareThread): Promise<void> {
  if (!dueAt(thread)) return
  await thread.control.safePoint()
  await identified(thread)
}

async function identified(thread: LabwareThread): Promise<void> {
  for (let due = dueAt(thread); due; due = dueAt(thread)) {
    try {
      await scan(thread, due)
    } catch (error) {
      await decideIdentity(thread, { due, cause: error })
    }
  }
}

function dueAt({ labware, state, environment, execution }: LabwareThread): DueScan | undefined {
  const place = environment.scheduler.whereIs(labware.labware_id)
  if (place === undefined || labware.held_by !== null || state.scanned === place) return undefined
  const scanner = scannerAt(execution.workflow.topology, place)
  return scanner === undefined ? undefined : { scanner, place }
}

/**
 * Scans labware that a transporter with a scanner has picked up, once for each pick. Returns undefined if no scan is due. Rejects with `Unidentified`.
 */
export function identifyHeld(thread: Mover, move: MoveRun): Promise<void> | undefined {
  // A lid has no barcode of its own.
  if (thread instanceof LidCarrier) return undefined
  const { from, to, transporter } = move.hop
  const scanner = scannerOf(thread.execution.workflow.topology, transporter)
  // Labware is set back to where it stood whether it is known or not.
  if (scanner === undefined || from === to || thread.state.scanned === transporter) return undefined
  return identifiedHeld(thread, move, { scanner, place: transporter })
}

async function identifiedHeld(thread: LabwareThread, move: MoveRun, due: DueScan): Promise<void> {
  const { clock, scheduler } = thread.environment
  const began = clock.now()
  move.set({ is_picked: true })
  try {
    await scan(thread, due)
  } catch (error) {
    if (error instanceof Interrupt) throw error
    // After a pick the gripper is out of the device.
    scheduler.access.reachedIn(thread.thread_id)
    throw new Unidentified(due, error)
  }
  // The scan is no part of what is learned about the transporter.
  if (move.picked_ms !== null) move.picked_ms += clock.now() - began
}

/**
 * Holds the thread until somebody decides about labware that is not known: RETRY scans again, and CONTINUE is the word of a person that this is the
 * labware. The thread then takes the status `then`. Rejects with an `Interrupt` when the thread must end.
 */
export async function decideIdentity(thread: LabwareThread, { due, cause }: Unidentified, then?: ThreadStatus): Promise<void> {
  if (cause instanceof Interrupt) throw cause
  if (thread.control.signal.aborted) throw new Interrupt('abort')
  const { events } = thread.execution
  const more = { recovery_action: 'THREAD_RECOVER_RETRY', error: cause, detail: { device: due.scanner, place: due.place } } as const
  events.incident(categoryOf(cause, 'ACTION_FAILED'), `${thread.name} cannot go on: ${messageOf(cause)}`, thread, more)
  const going = await thread.control.decisionAt('IDENTITY', cause)
  thread.control.recovered(then)
  // A person may have carried the labware away meanwhile.
  if (going === 'here' || !isAt(thread, due.place)) return
  thread.set({ scanned: due.place })
  const { name, barcode } = thread.labware
  const what = barcode === null ? `${name}, which has no barcode` : `${name} with the barcode ${barcode}`
  events.incident('ACTION_CONTINUED', `an operator says that the labware at ${due.place} is ${what}`, thread, { severity: 'INFO' })
}

/** Whether the labware stands at the position, or is in the gripper of the transporter. */
function isAt({ labware, environment }: LabwareThread, place: string): boolean {
  return (labware.held_by ?? environment.scheduler.whereIs(labware.labware_id)) === place
}

// For tests and the guest: a bench whose queue is killed again and again, the entries that are added to it, and what must be true of them.

import { standing, workflowOf } from './documents.ts'

export const devices = [
  { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  { device_id: 'arm-1', driver: 'arm', transport: { kind: 'simulated' } },
]
export const topology = {
  ...{ format: 1, name: 'queued' },
  transporters: { 'arm-1': { positions: ['pad', 'shaker_in'] } },
  positions: { pad: {}, shaker_in: { device: 'shaker-1' } },
}
export const teachpoints = ['pad', 'shaker_in'].map((name, i) => {
  return { device_id: 'arm-1', name, coord_type: 'cartesian', coords: { x: 100 + 200 * i, y: 300, z: 40, yaw: 0, pitch: 0, roll: 0 } }
})
/** A run that takes the plate from its pad to the shaker and back. */
export const workflow = workflowOf(
  'shake-queued',
  { plate: { ...standing('pad'), steps: [{ action: { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 2 } } }] } },
  { topology: 'queued' },
)

type Entry = { entry_id: string; state: string; execution_id: string | null; needs_person?: boolean; outcome?: string | null }
export type ShownQueue = { state: string; paused: { reason: string } | null; entries: Entry[]; ended: Entry[] }
export type Submission = { submission_id: string; execution_id: string; status: string }

/** Says what is wrong with the queue and the runs: an entry that was added is lost, is there twice, or has run twice. */
export function faultsOf(added: readonly string[], { entries, ended }: ShownQueue, submissions: readonly Submission[]): string[] {
  const faults: string[] = []
  for (const id of added) {
    const places = [...entries, ...ended].filter(({ entry_id }) => entry_id === id).length
    const runs = submissions.filter(({ submission_id }) => submission_id === id).length
    if (places > 1) faults.push(`${id} is ${places} times in the queue`)
    if (runs > 1) faults.push(`${id} ran ${runs} times`)
    // Of the entries that have ended, the newest are kept.
    if (places === 0 && runs === 0) faults.push(`${id} is lost`)
    const isCut = ({ needs_person }: Entry) =>
      needs_person === true && submissions.some((one) => one.submission_id === id && one.status === 'ABORTED')
    if (runs > 0 && entries.some((entry) => entry.entry_id === id && entry.state === 'waiting' && !isCut(entry)))
      faults.push(`${id} waits and has run`)
  }
  return faults
}

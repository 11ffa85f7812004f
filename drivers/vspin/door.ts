// The door and the lock of the buckets: air cylinders that are sent to one end and watched until they arrive.

import { LabError } from '../../src/errors.ts'
import type { Inputs } from './nmc.ts'
import type { Talk } from './talk.ts'
import { freeBucket, lockBucket, openDoor, outputs, unlockDoor } from './words.ts'

const motion_ms = 10_000

/** Locks the bucket at the door, then opens the door. */
export async function open(talk: Talk): Promise<void> {
  const { doorOpen } = await talk.inputs()
  if (!doorOpen) {
    await talk.order(outputs(0, lockBucket))
    await arrives(talk, 'the bucket should be locked and is not', (seen) => seen.bucketLocked)
  }
  await talk.order(outputs(0, lockBucket | openDoor | unlockDoor))
  await arrives(talk, 'the door should be open and is not', (seen) => seen.doorOpen)
}

/** Closes the door and leaves it unlocked; the bucket stays as it is. */
export async function close(talk: Talk): Promise<void> {
  const { bucketLocked } = await talk.inputs()
  await talk.order(outputs(0, unlockDoor | (bucketLocked ? lockBucket : 0)))
  await arrives(talk, 'the door should be closed and is not', (seen) => !seen.doorOpen)
}

/** Locks the door and releases the bucket, as the rotor needs before it turns. */
export async function freeForSpinning(talk: Talk): Promise<void> {
  await talk.order(outputs(0, 0))
  await arrives(talk, 'the door should be closed and locked and is not', (seen) => !seen.doorOpen && !seen.doorUnlocked)
  await talk.order(outputs(freeBucket, 0))
  await talk.order(outputs(0, 0))
  await arrives(talk, 'the bucket should be free and is locked', (seen) => !seen.bucketLocked)
}

async function arrives(talk: Talk, otherwise: string, there: (seen: Inputs) => boolean): Promise<void> {
  const late = () =>
    new LabError('device_failed', `${otherwise}; see that the compressed air is on and nothing is in the way, then initialize`)
  await talk.until(
    () => talk.inputs(),
    (seen) => seen.settled && there(seen),
    motion_ms,
    late,
  )
}

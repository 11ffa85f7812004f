// Whether the disk has room for a file.

import { levelOf } from '../care/host.ts'
import { LabError } from '../errors.ts'
import { roomOn } from '../kit/host_files.ts'

/** Rejects with `storage` if the disk would be nearly full with so many more bytes: the state of the runs needs the rest. */
export async function mustHaveRoom(folder: string, bytes: number): Promise<void> {
  const { free, total } = await roomOn(folder)
  if (levelOf({ free: free - bytes, total }) !== 'nearly none') return
  const sentence = `the disk has ${Math.floor(free / 1e6)} MB left, too little for this file: free some space, then attach it again`
  throw new LabError('storage', sentence, { retry_after_s: 60 })
}

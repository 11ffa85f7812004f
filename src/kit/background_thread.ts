// The priority of a thread that works in the background.

import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** The lowest but four of the priorities of Linux, where each thread has its own. */
const background = 15

/** Lets the calling thread give way to everything else on the computer. Elsewhere than on Linux it keeps the priority of the process. */
export function giveWay(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), background)
  } catch {
    // There is no such file.
  }
}

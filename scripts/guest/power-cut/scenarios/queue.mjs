// Right: the queue of runs, while entries are added and run.
import { queueing } from './queued.mjs'

export const { prepare, write, check } = queueing()

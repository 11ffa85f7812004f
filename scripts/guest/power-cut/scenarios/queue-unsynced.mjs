// Wrong: the same, with the fsync of the file of the queue taken away.
import { queueing } from './queued.mjs'
import { without } from './shared.mjs'

export const { prepare, write, check } = queueing(() => without((_, path) => path.includes('/queue.json')))

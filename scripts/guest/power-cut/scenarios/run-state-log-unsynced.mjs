// Wrong: the same, with the fsync of the event log taken away.
import { without } from './shared.mjs'
import { counting } from './states.mjs'

export const { write, check } = counting(() => without((stats, path) => stats.isFile() && path.includes('/events-')))

// Wrong: the same log, with the fsync of its files taken away.
import { happening } from './events.mjs'
import { without } from './shared.mjs'

export const { write, check } = happening(() => without((stats) => stats.isFile()))

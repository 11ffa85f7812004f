// Wrong: the same store, with the fsync of its files taken away.
import { storing, without } from './shared.mjs'

export const { write, check } = storing(() => without((stats) => stats.isFile()))

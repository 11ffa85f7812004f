// Wrong: the same store, with the fsync of its folders taken away.
import { storing, without } from './shared.mjs'

export const { write, check } = storing(() => without((stats) => stats.isDirectory()))

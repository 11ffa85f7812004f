// Right: the teachpoint store as it is built, with four writers at the same time, beginning with no folder.
import { storing } from './shared.mjs'

export const { write, check } = storing()

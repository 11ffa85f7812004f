// Right: the inventory of a storage, while a run and a person move plates.
import { storing } from './stored.mjs'

export const { prepare, write, check } = storing()

// Right: the state of runs in one transaction with their events; files of states begin and go on the way.
import { counting } from './states.mjs'

export const { write, check } = counting()

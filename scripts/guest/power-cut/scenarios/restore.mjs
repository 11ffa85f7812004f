// Right: a backup put back as it is built, over a state that is there already: all of it is changed, or none.
import { restoring } from './restoring.mjs'

export const { prepare, write, check } = restoring()

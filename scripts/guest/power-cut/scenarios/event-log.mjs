// Right: the event log as it is built, over several small segments, with an execution removed on the way; beginning with no folder.
import { happening } from './events.mjs'

export const { write, check } = happening()

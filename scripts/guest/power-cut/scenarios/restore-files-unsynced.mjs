// Wrong on purpose: what comes out of the backup is not synced before it is decided that it takes the place of what is there.
import { restoring } from './restoring.mjs'
import { without } from './shared.mjs'

export const { prepare, write, check } = restoring(() => without((stats) => stats.isFile()))

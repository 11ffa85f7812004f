// For tests of what people type with curl.

import { spawnSync } from 'node:child_process'

/** Says why a test with curl cannot run here, or false. */
export const noCurl = spawnSync('curl', ['--version']).status !== 0 && 'there is no curl'

// What can be opened for writing where this runs: each path of the command line, into probe.json in the state folder.

import { closeSync, constants, openSync, writeFileSync } from 'node:fs'

const tried = process.argv.slice(2).map((path) => [path, opened(path)])
writeFileSync(`${process.env.STATE_DIRECTORY}/probe.json`, JSON.stringify(Object.fromEntries(tried)))

function opened(path: string): string {
  try {
    // Without waiting for a carrier, as a terminal would have it.
    closeSync(openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK))
    return 'opened'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

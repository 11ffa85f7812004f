#!/usr/bin/env node
// `benchd …` at a shell.

import { run } from './run.ts'
import { tell } from './table.ts'

process.stdout.on('error', onPrintError)
void run(process.argv.slice(2)).then((code) => {
  process.exitCode = code
})

/** Ends quietly if the reader closes the pipe, as in `benchd events export | head`. After any other error the output is incomplete. */
function onPrintError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(0)
  void import('../kit/durable.ts').then(({ storageError }) => {
    tell(storageError('the output was not written', error).message)
    process.exit(1)
  })
}

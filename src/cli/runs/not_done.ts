// The operations of a run itself that were not done, in words.

import type { OperationNotDone } from '../../events/contexts.ts'
import { atShell } from '../at_shell.ts'

/** Words an operation that was not done: `off of chiller (after): chiller is stopped`. */
export function notDoneText({ part, operation, on, reason }: OperationNotDone): string {
  return atShell(`${operation} of ${on} (${part}): ${reason}`)
}

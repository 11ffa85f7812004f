// The decisions about a device call that takes too long.

import type { Incident } from '../clients/ts/benchd.ts'
import type { Decision } from './need.ts'

export function isLateCall({ category }: Incident): boolean {
  return category === 'RECOVERABLE_TIMEOUT'
}

/** The extra time for a late call per press, in s. */
const more_s = 120

/** Lists the decisions about a late device call. */
export function aboutLateCall({ incident_id }: Incident): Decision[] {
  const path = { incident_id }
  return [
    {
      label: 'More time',
      consequence: `The call may take ${more_s / 60} minutes more.`,
      request: { operation: 'extendLateCall', asked: { path, body: { seconds: more_s } } },
    },
    {
      label: 'Mark as done',
      consequence: 'The call counts as done and is cut off. Initialize the device before it is used again.',
      request: { operation: 'completeLateCall', asked: { path, body: {} } },
    },
    {
      label: 'Abort call',
      consequence: 'The device is halted, and the call has failed.',
      request: { operation: 'abortLateCall', asked: { path, body: {} } },
      danger: true,
    },
  ]
}

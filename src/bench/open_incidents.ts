// Incidents that stay until somebody acknowledges them: safe mode, and requests that may be forgotten.

import type { Hub } from '../events/hub.ts'
import type { Incident } from '../events/incidents.ts'
import type { Log } from '../kit/log.ts'

/** Tells of requests that may be forgotten; the answer says whether somebody has acknowledged that since. */
export function lossTeller(hub: Hub, log: Log): (message: string) => () => boolean {
  return (message) => {
    log.error(message)
    const open = unacknowledged(hub, hub.incident('STORAGE', message, { stays: true }))
    return () => open() === undefined
  }
}

/** Begins the safe mode, and returns the incident that ends it, until somebody has acknowledged that. */
export function beginSafely(hub: Hub, log: Log, why: string): () => Incident | undefined {
  const message = `safe mode: ${why}; look at the bench and at the log, then acknowledge this incident, until then nothing can be moved`
  log.warn(message)
  return unacknowledged(hub, hub.incident('OTHER', message, { severity: 'CRITICAL', detail: { safe_mode: true }, stays: true }))
}

/** Returns a function that returns an incident that stays, until somebody has acknowledged it. */
function unacknowledged(hub: Hub, { incident_id }: Incident): () => Incident | undefined {
  return () => {
    // An incident that is not there any more has been acknowledged.
    const incident = hub.incidents.find(incident_id)
    return incident?.acknowledged ? undefined : incident
  }
}

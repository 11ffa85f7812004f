// Incidents with an effect until somebody acknowledges them: safe mode, and lost records of requests.

import type { Hub } from '../events/hub.ts'
import type { Incident } from '../events/incidents.ts'
import type { Log } from '../kit/log.ts'

/** Returns a function that reports a loss of recorded requests. Its result says whether somebody has acknowledged that since. */
export function lossTeller(hub: Hub, log: Log): (message: string) => () => boolean {
  return (message) => {
    log.error(message)
    const open = unacknowledged(hub, hub.incident('STORAGE', message, { stays: true }))
    return () => open() === undefined
  }
}

/** Begins safe mode. Returns a function that returns the incident, until somebody has acknowledged it. */
export function beginSafely(hub: Hub, log: Log, why: string): () => Incident | undefined {
  const message = `safe mode: ${why}; look at the bench and at the log, then acknowledge this incident. Until then nothing can be moved`
  log.warn(message)
  return unacknowledged(hub, hub.incident('OTHER', message, { severity: 'CRITICAL', detail: { safe_mode: true }, stays: true }))
}

/** Returns a function that returns the incident, until somebody has acknowledged it. */
function unacknowledged(hub: Hub, { incident_id }: Incident): () => Incident | undefined {
  return () => {
    // A removed incident had been acknowledged.
    const incident = hub.incidents.find(incident_id)
    return incident?.acknowledged ? undefined : incident
  }
}

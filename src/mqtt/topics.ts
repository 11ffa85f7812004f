// The topics below that of the bench, and which of them a value of the live state has.

/** A value of the live state, as `GET /api/live` sends it; `null` when it is gone. */
export type LiveValue = { kind: string; id: string; value: Readonly<Record<string, unknown>> | null }

/** For each kind of the live state that is published, its topic. */
const topicsOf: Readonly<Record<string, (id: string) => string>> = {
  service: () => 'state',
  device: (id) => `device/${id}/state`,
  reading: (id) => `device/${id}/readings`,
  incident: (id) => `incident/${id}`,
  run: (id) => `run/${id}`,
}

export const publishedKinds: ReadonlySet<string> = new Set(Object.keys(topicsOf))

/** The topics of values that come and go. After a connection they are looked through for values that are gone. */
export const passingTopics = ['device/+/state', 'device/+/readings', 'incident/+', 'run/+'] as const

export const availability = { topic: 'availability', online: 'online', offline: 'offline' } as const

/** Returns the topic of a value, and its payload: undefined for one that the broker shall not keep. */
export function messageOf({ kind, id, value }: LiveValue): { topic: string; payload: string | undefined } {
  const isOver = value === null || (kind === 'run' && value['ended_at'] !== null)
  return { topic: topicsOf[kind]!(id), payload: isOver ? undefined : JSON.stringify(value) }
}

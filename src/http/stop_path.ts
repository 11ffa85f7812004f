// The address of a stop. A stop forgives what does not matter: slashes that are doubled or at the end, and a query.

const stop = /^\/+api\/+(?:devices\/+([^/?]+)\/+)?stop\/*(?:\?|$)/

/** Returns the path of the stop that a request asks for, as the routes have it; undefined for any other request. */
export function stopPathOf(method: string | undefined, url: string | undefined): string | undefined {
  const [matched, device_id] = (method === 'POST' && stop.exec(url ?? '')) || []
  if (matched === undefined) return undefined
  return device_id === undefined ? '/api/stop' : `/api/devices/${device_id}/stop`
}

// Recognizes the address of a stop, also with doubled or trailing slashes and a query.

const stop = /^\/+api\/+(?:devices\/+([^/?]+)\/+)?stop\/*(?:\?|$)/

/** Returns the path of the stop route that a request means; undefined for any other request. */
export function stopPathOf(method: string | undefined, url: string | undefined): string | undefined {
  const [matched, device_id] = (method === 'POST' && stop.exec(url ?? '')) || []
  if (matched === undefined) return undefined
  return device_id === undefined ? '/api/stop' : `/api/devices/${device_id}/stop`
}

// Reads a file of teachpoints, and compares it with the stored points.

import type { Teachpoint } from '../clients/ts/benchd.ts'

export type Compared = {
  points: Teachpoint[]
  created: string[]
  changed: { name: string; words: string }[]
  same: number
}

/** Parses the points of an arm from an exported file or a bare list. Throws a sentence for another text. */
export function pointsIn(text: string, robot: string): Teachpoint[] {
  const content = parsed(text, robot) as { teachpoints?: unknown } | null
  const list = Array.isArray(content) ? content : content?.teachpoints
  if (!Array.isArray(list)) throw new Error('this is not a file of teachpoints: it has no list of teachpoints')
  const points = list as Partial<Teachpoint>[]
  for (const point of points) {
    if (typeof point?.name !== 'string' || typeof point.coords !== 'object' || point.coords === null)
      throw new Error('a teachpoint in it has no name or no coords')
    if (point.device_id !== undefined && point.device_id !== robot)
      throw new Error(`its teachpoints are of ${point.device_id}, not of ${robot}; choose ${point.device_id} first`)
  }
  return points.map((point) => ({ ...point, device_id: robot }) as Teachpoint)
}

/** Lists the changes of the stored points that an import would make. */
export function compared(points: Teachpoint[], stored: readonly Teachpoint[]): Compared {
  const before = new Map(stored.map((point) => [point.name, point]))
  const result: Compared = { points, created: [], changed: [], same: 0 }
  for (const point of points) {
    const known = before.get(point.name)
    const words = known && difference(known, point)
    if (!known) result.created.push(point.name)
    else if (words) result.changed.push({ name: point.name, words })
    else result.same++
  }
  return result
}

/** Formats a difference as `x 120 → 127`; empty for equal points. */
function difference(before: Teachpoint, after: Teachpoint): string {
  if (before.coord_type !== after.coord_type) return `${before.coord_type} → ${after.coord_type}`
  const [old, fresh] = [before.coords, after.coords] as [Record<string, number>, Record<string, number>]
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])]
    .flatMap((name) => (old[name] === fresh[name] ? [] : [`${name} ${old[name] ?? '-'} → ${fresh[name] ?? '-'}`]))
    .join(', ')
}

function parsed(text: string, robot: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`it is not JSON, as Export writes it; for CSV, type at a shell: benchd teachpoints import ${robot} FILE`)
  }
}

// For tests that kill the process or cut the power: writes teachpoints in rounds, and finds out which round a store has.

import type { Teachpoints } from '../teachpoints/store.ts'
import type { Teachpoint } from '../teachpoints/teachpoint.ts'

/** Writer 0 creates and deletes one point per round. Each other writer imports five points that carry the round's number. */
export async function write(store: Teachpoints, writer: number, round: number): Promise<void> {
  if (writer > 0) await store.importAll(points(writer, round), { overwrite: true })
  else if (round % 2 === 1) await store.create(point(0, 'here', round))
  else await store.delete(deviceOf(0), 'here')
}

/** Returns which rounds the writer's points can be from. Throws if they are from several. */
export function roundsOf(store: Teachpoints, writer: number): (round: number) => boolean {
  const found = store.list(deviceOf(writer))
  const rounds = new Set(found.map(({ coords }) => ('x' in coords ? coords.x : Number.NaN)))
  const round = [...rounds][0]
  if (writer === 0) return (wanted) => (round === undefined ? wanted % 2 === 0 : wanted === round)
  if (rounds.size > 1 || (found.length !== 0 && found.length !== names.length)) throw new Error(`a mixture: ${JSON.stringify(found)}`)
  return (wanted) => wanted === (round ?? 0)
}

const names = ['a', 'b', 'c', 'd', 'e']

function points(writer: number, round: number): Teachpoint[] {
  return names.map((name) => point(writer, name, round))
}

function point(writer: number, name: string, x: number): Teachpoint {
  return { device_id: deviceOf(writer), name, coord_type: 'cartesian', coords: { x, y: 0, z: 0, yaw: 0, pitch: 0, roll: 0 } }
}

function deviceOf(writer: number): string {
  return `arm-${writer}`
}

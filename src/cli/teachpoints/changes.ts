// Compares the points of a file with the points of the service, point by point.

import { isDeepStrictEqual } from 'node:util'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import { colored } from '../terminal.ts'
import { coordColumns } from './columns.ts'

type TeachpointChange = {
  name: string
  what: 'new' | 'changed' | 'same' | 'missing'
  /** Keyed by member, such as `coords.x`. */
  members: Record<string, { from: unknown; to: unknown }>
}

/** Lists the changes by name; a `missing` point is not among the wanted ones. */
export function changesFrom(there: readonly Teachpoint[], wanted: readonly Teachpoint[]): TeachpointChange[] {
  const names = [...new Set([...there, ...wanted].map(({ name }) => name))].sort()
  const called = (points: readonly Teachpoint[], name: string) => points.find((point) => point.name === name)
  return names.map((name) => changeOf(name, called(there, name), called(wanted, name)))
}

function changeOf(name: string, from: Teachpoint | undefined, to: Teachpoint | undefined): TeachpointChange {
  if (!from || !to) return { name, what: from ? 'missing' : 'new', members: {} }
  const [before, after] = [flat(from), flat(to)]
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((key) => !isDeepStrictEqual(before[key], after[key]))
  const members = Object.fromEntries(keys.map((key) => [key, { from: before[key] ?? null, to: after[key] ?? null }]))
  return { name, what: keys.length ? 'changed' : 'same', members }
}

function flat({ coords, ...rest }: Teachpoint): Record<string, unknown> {
  return { ...rest, ...Object.fromEntries(Object.entries(coords).map(([member, value]) => [`coords.${member}`, value])) }
}

const signs = { new: ['+', 'green'], changed: ['~', 'yellow'], missing: ['-', 'red'], same: ['=', 'dim'] } as const

/** Returns a line for each change. */
export function worded(changes: readonly TeachpointChange[]): string[] {
  return changes
    .filter(({ what }) => what !== 'same')
    .map(({ name, what, members }) => {
      const [sign, color] = signs[what]
      const how = Object.entries(members).map(([member, { from, to }]) => `${member} ${shown(from)} -> ${shown(to)}${unitOf(member)}`)
      return colored(color, [`${sign} ${name}`, ...how].join('  '))
    })
}

function shown(value: unknown): string {
  return value === null ? 'none' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function unitOf(member: string): string {
  const column = Object.values(coordColumns)
    .map((its) => its[member.replace('coords.', '')])
    .find(Boolean)
  return column === undefined ? '' : column.endsWith('_mm') ? ' mm' : '°'
}

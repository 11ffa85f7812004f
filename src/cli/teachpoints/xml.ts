// Teachpoints in the XML of programs for PreciseFlex arms: an element `teachpoint` for each, with its name and its coordinates as attributes.

import { CliError } from '../exit.ts'
import { decimal } from '../numbers.ts'
import { coordColumns, type Written } from './columns.ts'
import { converted, isLength, type Units } from './units.ts'

const wanted = {
  cartesian: ['x', 'y', 'z', 'yaw', 'pitch', 'roll'],
  joint: ['base', 'shoulder', 'elbow', 'wrist'],
}

/**
 * Parses the points of a text. `approach_height` becomes the vertical clearance of the access. Throws a usage error that names the line, also for a
 * point with a name alone.
 */
export function pointsOfXml(text: string, what: string, { device_id, units }: { device_id: string; units: Units }): Written[] {
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw new CliError('usage', `${what}: a document type is not taken; take that line out`)
  const plain = text.replace(/<!--[\s\S]*?-->|<\?[\s\S]*?\?>/g, (gone) => gone.replace(/[^\n]/g, ' '))
  const found = [...plain.matchAll(/<teachpoint\b((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>/gi)]
  if (found.length !== (plain.match(/<teachpoint\b/gi) ?? []).length) throw new CliError('usage', `${what}: it is no whole XML`)
  if (found.length === 0) {
    const [, root = ''] = /<([\w.:-]+)/.exec(plain) ?? []
    throw new CliError('usage', `${what}: it is XML without an element teachpoint${root ? ` (its root is ${root})` : ''}; ${csvInstead}`)
  }
  return found.map((match) => pointOf(match[1]!, `${what}: line ${plain.slice(0, match.index).split('\n').length}`, { device_id, units }))
}

const csvInstead = 'write the points as CSV with the columns name and x, y, z, yaw, pitch, roll, or name and base, shoulder, elbow, wrist'

function pointOf(text: string, at: string, { device_id, units }: { device_id: string; units: Units }): Written {
  const attributes = new Map(
    Array.from(text.matchAll(/([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g), ([, name, a, b]) => [name!, unescaped(a ?? b ?? '')]),
  )
  const name = attributes.get('name')
  if (name === undefined) throw new CliError('usage', `${at}: the teachpoint has no name`)
  const coord_type = wanted.cartesian.some((member) => attributes.has(member)) ? 'cartesian' : 'joint'
  const members = Object.keys(coordColumns[coord_type]!)
  const missing = wanted[coord_type].filter((member) => !attributes.has(member))
  if (missing.length === wanted.joint.length)
    throw new CliError(
      'usage',
      `${at}: ${JSON.stringify(name)} has a name and no coordinates: they are in the controller of the arm; read them there, and ${csvInstead}`,
    )
  if (missing.length > 0)
    throw new CliError(
      'usage',
      `${at}: ${JSON.stringify(name)} has no ${missing.join(', ')}: nobody may guess where the arm is to go; add them`,
    )
  const strange = [...attributes.keys()].find((member) => !['name', 'approach_height', ...members].includes(member))
  if (strange !== undefined) throw new CliError('usage', `${at}: ${JSON.stringify(name)} has ${strange}, which is not known; take that out`)
  const numberOf = (member: string) => {
    const value = decimal(attributes.get(member)!)
    if (Number.isNaN(value))
      throw new CliError('usage', `${at}: ${member} of ${JSON.stringify(name)} is not a number: ${attributes.get(member)}`)
    return converted(value, isLength(member) ? units.mm : units.deg)
  }
  const given = members.filter((member) => attributes.has(member))
  const clearance = attributes.has('approach_height') ? numberOf('approach_height') : 0
  const point = {
    ...{ device_id, name, coord_type, coords: Object.fromEntries(given.map((member) => [member, numberOf(member)])) },
    ...(clearance > 0 && { access: { access_type: 'vertical', vertical_clearance: clearance } }),
  }
  return { point, place: (path) => `${at}: ${path.join('.')}` }
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimalCode, hexCode, name) => {
    const code = decimalCode ? Number(decimalCode) : hexCode ? Number.parseInt(hexCode, 16) : undefined
    if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    return entities[name as string] ?? whole
  })
}

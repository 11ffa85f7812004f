// `benchd teachpoints …`: the taught points of arms.

import { text as textOf } from 'node:stream/consumers'
import { writeText } from '../../kit/files.ts'
import { withEscapes } from '../../kit/invisible.ts'
import type { Version } from '../../teachpoints/history.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import { shows, tells } from '../asking.ts'
import { ask, open, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { localTime } from '../local_time.ts'
import { numberOf } from '../numbers.ts'
import { print, table } from '../table.ts'
import { mustBeSure, note, noteNone, say } from '../terminal.ts'
import { changesFrom, worded } from './changes.ts'
import { coordColumns } from './columns.ts'
import { fileOptions, formatOf, formatOption, pointsIn, written } from './points_file.ts'
import { doubtAbout } from './units.ts'

const teachpointsList = shows({
  name: 'teachpoints list',
  summary: 'List the teachpoints of a device, in mm and degrees',
  operands: ['DEVICE'],
  path: ({ operands: [device_id = ''] }) => `/api/teachpoints?${new URLSearchParams({ device_id })}`,
  text: ({ teachpoints }: { teachpoints: Teachpoint[] }) =>
    table(
      ['NAME', 'TYPE', 'COORDS', 'BESIDES'],
      teachpoints.map(({ name, coord_type, coords, ...its }) => [name, coord_type, pairs(coords), besides(its)]),
    ),
  also: ({ teachpoints }, { operands: [device_id] }) =>
    noteNone(teachpoints, `${device_id} has no teachpoint; to make one: benchd teachpoints set ${device_id} NAME --x … --y …`),
})

const teachpointsGet = shows({
  name: 'teachpoints get',
  summary: 'Show a teachpoint',
  operands: ['DEVICE', 'NAME'],
  path: ({ operands: [device_id = '', name = ''] }) => pathOf(device_id, name),
  text: ({ name, coord_type, coords, ...its }: Teachpoint) => [name, coord_type, pairs(coords), besides(its)].filter(Boolean).join('  '),
})

const coordOptions = Object.fromEntries(
  Object.entries(coordColumns).flatMap(([type, columns]) =>
    Object.entries(columns).map(([member, column]) => [
      member,
      { type: 'string', value: 'N', help: `Coordinate of a ${type} point, in ${column.endsWith('_mm') ? 'mm' : 'degrees'}` } as const,
    ]),
  ),
)

const teachpointsSet = command({
  name: 'teachpoints set',
  summary: 'Create or change a teachpoint',
  operands: ['DEVICE', 'NAME'],
  options: {
    ...coordOptions,
    orientation: { type: 'string', value: 'SIDE', one_of: ['left', 'right'], help: 'Side to which the elbow bends: left or right' },
    access: { type: 'string', value: 'NAME', help: 'Name of the access pattern' },
    gateway: { type: 'string', value: 'NAME', help: 'Teachpoint of the device to pass on the way' },
    ...serviceOptions,
  },
  example: 'benchd teachpoints set arm-1 pad_1 --z 40.5',
  async run({ options, operands: [device_id = '', name = ''] }) {
    const service = serviceOf(options)
    const { orientation, access, gateway } = options
    const its = { ...(orientation && { orientation }), ...(access && { access }), ...(gateway && { gateway }) }
    const { point, isNew } = await stored(service, { device_id, name }, (before) => ({
      ...before,
      device_id,
      name,
      ...moved(before, options as Record<string, string | undefined>),
      ...its,
    }))
    if (options.json) print(JSON.stringify(point))
    else say({ success: true, message: `${name} is ${isNew ? 'new' : 'changed'}: ${pairs(point.coords)}` })
  },
})

const teachpointsHere = command({
  name: 'teachpoints here',
  summary: 'Save the present position of an arm as a teachpoint; all else of the point stays as it is',
  operands: ['DEVICE', 'NAME'],
  options: serviceOptions,
  example: 'benchd teachpoints here arm-1 pad_1',
  async run({ options, operands: [device_id = '', name = ''] }) {
    const service = serviceOf(options)
    const { coord_type, coords } = await ask<Teachpoint>(service, 'GET', `/api/devices/${encodeURIComponent(device_id)}/pose`)
    const { point, isNew } = await stored(service, { device_id, name }, (before) => ({ ...before, device_id, name, coord_type, coords }))
    if (options.json) print(JSON.stringify(point))
    else say({ success: true, message: `${name} is ${isNew ? 'new' : 'changed'}: ${pairs(point.coords)}` })
  },
})

const teachpointsHistory = shows({
  name: 'teachpoints history',
  summary: 'List the versions of a teachpoint, the newest first, also of a deleted one',
  operands: ['DEVICE', 'NAME'],
  path: ({ operands: [device_id = '', name = ''] }) => `${pathOf(device_id, name)}/history`,
  text: ({ versions }: { versions: Version[] }) =>
    table(
      ['VERSION', 'WHEN', 'BY', 'COORDS'],
      versions.map(({ version, at, by, point }) => [
        point ? version.slice(0, 8) : '-',
        at === null ? '-' : localTime(at),
        by ?? '-',
        point ? pairs(point.coords) : 'deleted',
      ]),
    ),
})

const teachpointsRestore = command({
  name: 'teachpoints restore',
  summary: 'Restore a version of a teachpoint, also of a deleted one',
  operands: ['DEVICE', 'NAME', 'VERSION'],
  options: serviceOptions,
  example: 'benchd teachpoints restore arm-1 pad_1 3f9a02c1',
  async run({ options, operands: [device_id = '', name = '', short = ''] }) {
    const service = serviceOf(options)
    const path = pathOf(device_id, name)
    const { versions } = await ask<{ versions: Version[] }>(service, 'GET', `${path}/history`)
    const known = new Set(versions.flatMap(({ version, point }) => (point && version.startsWith(short) ? [version] : [])))
    if (known.size > 1) throw new CliError('usage', `${short} begins several versions: ${[...known].join(', ')}; name more of it`)
    const [version = short] = known
    const point = await ask<Teachpoint>(service, 'POST', `${path}/restore`, { version })
    if (options.json) print(JSON.stringify(point))
    else say({ success: true, message: `${name} is as it was: ${pairs(point.coords)}` })
  },
})

const teachpointsRm = tells({
  name: 'teachpoints rm',
  summary: 'Delete a teachpoint',
  operands: ['DEVICE', 'NAME'],
  deed: ([device_id, name]) => `delete the teachpoint ${name} of ${device_id}`,
  tell: ({ operands: [device_id = '', name = ''] }) => ({ method: 'DELETE', path: pathOf(device_id, name) }),
})

const teachpointsExport = command({
  name: 'teachpoints export',
  summary: 'Export all teachpoints of a device to a file or to stdout, in the format of import',
  operands: ['DEVICE', '[FILE]'],
  options: { ...formatOption, ...serviceOptions },
  example: 'benchd teachpoints export arm-1 arm-1.csv',
  async run({ options, operands: [device_id = '', file] }) {
    const teachpoints = await pointsOf(serviceOf(options), device_id)
    const text = written(device_id, teachpoints, formatOf(options.format, file))
    if (file === undefined || file === '-') {
      process.stdout.write(options.json ? `${withEscapes(JSON.stringify({ device_id, teachpoints }))}\n` : text)
      return 0
    }
    await writeText(file, text)
    return say({ success: true, message: `${teachpoints.length} points of ${device_id} are in ${file}` }, options.json)
  },
})

const teachpointsImport = command({
  name: 'teachpoints import',
  summary: 'Import the teachpoints of a file, or of stdin for -: all of them, or none',
  operands: ['DEVICE', 'FILE'],
  options: {
    overwrite: { type: 'boolean', help: 'Overwrite existing teachpoints' },
    'dry-run': { type: 'boolean', help: 'Show the changes without making them' },
    ...fileOptions,
    yes: { type: 'boolean', help: 'Accept numbers out of reach, or seemingly in other units, without confirmation' },
    ...serviceOptions,
  },
  example: 'benchd teachpoints import arm-1 arm-1.csv --dry-run',
  async run({ options, operands: [device_id = '', file = ''] }) {
    const teachpoints = await pointsIn(file, options, device_id)
    const doubt = doubtAbout(teachpoints)
    if (doubt && options['dry-run']) note(`see the units of the file: ${doubt}`)
    else if (doubt) await mustBeSure(options, `store points of which ${doubt}`)
    const service = serviceOf(options)
    const overwrite = options.overwrite ?? false
    if (!options['dry-run'])
      return say(await ask(service, 'POST', '/api/teachpoints/bulk', { device_id, teachpoints, overwrite }), options.json)
    // Points that the file leaves out stay as they are.
    const changes = changesFrom(await pointsOf(service, device_id), teachpoints).filter(({ what }) => what !== 'missing')
    print(options.json ? JSON.stringify({ changes }) : [...worded(changes), counted(changes)].join('\n'))
    const there = changes.filter(({ what }) => what !== 'new').length
    if (there && !overwrite)
      throw new CliError('busy', `it would be refused: ${there} of them are there already; with --overwrite it would not`)
    return 0
  },
})

const teachpointsDiff = command({
  name: 'teachpoints diff',
  summary: 'Compare a file of teachpoints with the service; exit with 1 if they differ',
  operands: ['DEVICE', 'FILE'],
  options: { ...fileOptions, ...serviceOptions },
  async run({ options, operands: [device_id = '', file = ''] }) {
    const wanted = await pointsIn(file, options, device_id)
    const changes = changesFrom(await pointsOf(serviceOf(options), device_id), wanted)
    print(options.json ? JSON.stringify({ changes }) : [...worded(changes), counted(changes)].join('\n'))
    return changes.every(({ what }) => what === 'same') ? 0 : 1
  },
})

export const commands = [
  teachpointsList,
  teachpointsGet,
  teachpointsSet,
  teachpointsHere,
  teachpointsHistory,
  teachpointsRestore,
  teachpointsRm,
  teachpointsImport,
  teachpointsExport,
  teachpointsDiff,
]

function pathOf(device_id: string, name: string): string {
  return `/api/teachpoints/${encodeURIComponent(device_id)}/${encodeURIComponent(name)}`
}

async function pointsOf(service: Service, device_id: string): Promise<Teachpoint[]> {
  return (await ask<{ teachpoints: Teachpoint[] }>(service, 'GET', `/api/teachpoints/export/${encodeURIComponent(device_id)}`)).teachpoints
}

type PointName = { device_id: string; name: string }

async function existing(service: Service, { device_id, name }: PointName): Promise<{ before?: Teachpoint; tag?: string | undefined }> {
  try {
    const answer = await open(service, 'GET', pathOf(device_id, name))
    return { before: JSON.parse(await textOf(answer)) as Teachpoint, tag: answer.headers.etag }
  } catch (error) {
    if (error instanceof CliError && error.exit === 'not_found') return {}
    throw error
  }
}

const mostTimes = 10

/** Stores a point if the old one is unchanged since it was read; else computes it anew. */
async function stored(
  service: Service,
  place: PointName,
  edited: (before: Teachpoint | undefined) => object,
): Promise<{ point: Teachpoint; isNew: boolean }> {
  for (let times = 1; ; times++) {
    const { before, tag } = await existing(service, place)
    const wanted = edited(before)
    try {
      const headers = tag === undefined ? undefined : { 'If-Match': tag }
      const point = before
        ? await ask<Teachpoint>(service, 'PUT', pathOf(place.device_id, place.name), wanted, { headers })
        : await ask<Teachpoint>(service, 'POST', '/api/teachpoints', wanted)
      return { point, isNew: before === undefined }
    } catch (error) {
      if (!(error instanceof CliError && error.exit === 'busy') || times === mostTimes) throw error
    }
  }
}

/** Replaces the given coordinates of a point, and its type if they are of another. */
function moved(
  before: Teachpoint | undefined,
  options: Record<string, string | undefined>,
): { coord_type: string; coords: object } | undefined {
  const said = Object.entries(coordColumns).flatMap(([type, columns]) =>
    Object.keys(columns).flatMap((member) =>
      options[member] === undefined ? [] : [{ type, member, value: numberOf(`--${member}`, options[member]) }],
    ),
  )
  const [coord_type = before?.coord_type, other] = new Set(said.map(({ type }) => type))
  if (other) throw new CliError('usage', `a point is ${coord_type} or ${other}, not both`)
  if (coord_type === undefined)
    throw new CliError('usage', `there is no such point yet: say where it is, with --x --y --z --yaw --pitch --roll`)
  const coordsBefore = before?.coord_type === coord_type ? before.coords : {}
  return { coord_type, coords: { ...coordsBefore, ...Object.fromEntries(said.map(({ member, value }) => [member, value])) } }
}

function pairs(coords: Teachpoint['coords']): string {
  return Object.entries(coords)
    .map(([member, value]) => `${member} ${value}`)
    .join('  ')
}

function besides({ orientation, access, gateway }: Pick<Teachpoint, 'orientation' | 'access' | 'gateway'>): string {
  const words = { orientation, access: typeof access === 'object' ? JSON.stringify(access) : access, gateway }
  return Object.entries(words)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join(', ')
}

function counted(changes: readonly { what: string }[]): string {
  const count = (wanted: string) => changes.filter(({ what }) => what === wanted).length
  return `${count('new')} new, ${count('changed')} changed, ${count('missing')} missing, ${count('same')} the same`
}

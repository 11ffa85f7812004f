// The routes of the teachpoints of arms.

import * as v from 'valibot'
import { OperationResult } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { checked } from '../kit/schema.ts'
import { Version, versionOf } from '../teachpoints/history.ts'
import type { Teachpoints } from '../teachpoints/store.ts'
import { AddressedTeachpoint, Teachpoint } from '../teachpoints/teachpoint.ts'
import { authorOf } from './author.ts'
import { type Call, json, type Route, routesOf } from './contract.ts'

type Rooms = { registry: Registry; teachpoints: Teachpoints }

const route = routesOf<Rooms>('teachpoints')

const bulkLimit = 2 * 1024 * 1024
const point = '/api/teachpoints/:device_id/:name'
const Points = v.array(Teachpoint)

const Bulk = v.union([
  v.strictObject({ device_id: v.optional(v.string()), teachpoints: Points, overwrite: v.optional(v.boolean()) }),
  Points,
])

export const teachpointRoutes: Route<Rooms>[] = [
  route('GET', '/api/teachpoints', {
    operation_id: 'listTeachpoints',
    summary: 'List teachpoints of one device',
    scope: 'read',
    query: v.object({ device_id: described(v.string(), 'Whose points') }),
    success: { description: 'The points, by name', schema: v.strictObject({ teachpoints: Points }) },
    errors: [400, 404],
    handle({ rooms, query }) {
      const { device_id } = query()
      rooms.registry.find(device_id)
      return json({ teachpoints: rooms.teachpoints.list(device_id) })
    },
  }),
  route('GET', '/api/teachpoints/export/:device_id', {
    operation_id: 'exportTeachpoints',
    summary: 'Export all teachpoints of a device',
    description: 'The answer is what the bulk import takes.',
    scope: 'read',
    success: { description: 'All its points', schema: v.strictObject({ device_id: v.string(), teachpoints: Points }) },
    errors: [404],
    handle({ rooms, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      return json({ device_id, teachpoints: rooms.teachpoints.list(device_id) })
    },
  }),
  route('GET', point, {
    operation_id: 'getTeachpoint',
    summary: 'Get one teachpoint',
    scope: 'read',
    success: { description: 'The point', schema: Teachpoint, headers: ['ETag'] },
    errors: [404],
    handle: (call) => tagged(existing(call)),
  }),
  route('POST', '/api/teachpoints', {
    operation_id: 'createTeachpoint',
    summary: 'Create a teachpoint',
    scope: 'operate',
    body: Teachpoint,
    success: { status: 201, description: 'The point; on the card when this is answered', schema: Teachpoint, headers: ['Location'] },
    errors: [400, 404, 409, 503],
    async handle({ rooms, body, c }) {
      const wanted = body()
      rooms.registry.find(wanted.device_id)
      const created = await rooms.teachpoints.create(wanted, authorOf(c))
      return json(created, 201, { Location: addressOf(created) })
    },
  }),
  route('POST', '/api/teachpoints/bulk', {
    operation_id: 'importTeachpoints',
    summary: 'Bulk import',
    description:
      'All or nothing. Takes what the export answers, or the bare array; a point that is there already is a conflict unless `overwrite` is true.',
    scope: 'operate',
    body: Bulk,
    body_limit: bulkLimit,
    success: {
      description: 'All are stored',
      schema: v.strictObject({ ...OperationResult.entries, created: v.number(), updated: v.number() }),
    },
    errors: [400, 404, 409, 503],
    async handle({ rooms, body, c }) {
      const { teachpoints, overwrite, device_id } = unwrapped(body())
      const ids = teachpoints.map((teachpoint) => teachpoint.device_id)
      for (const id of new Set(device_id === undefined ? ids : [device_id, ...ids])) rooms.registry.find(id)
      mustBelongTo(device_id, teachpoints)
      const { created, updated } = await rooms.teachpoints.importAll(teachpoints, { overwrite, ...authorOf(c) })
      return json({ success: true, message: `${created} created, ${updated} updated`, created, updated })
    },
  }),
  route('GET', `${point}/history`, {
    operation_id: 'listTeachpointVersions',
    summary: 'List the newest twenty versions of a teachpoint, also of one that was deleted',
    description: 'The newest first: how the point is now. A bulk import is one version of each point that it changes.',
    scope: 'read',
    success: { description: 'The versions', schema: v.strictObject({ versions: v.array(Version) }) },
    errors: [404],
    handle({ rooms, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      return json({ versions: rooms.teachpoints.history(device_id, nameIn({ rooms, param })) })
    },
  }),
  route('POST', `${point}/restore`, {
    operation_id: 'restoreTeachpoint',
    summary: 'Make a teachpoint what it was in one of its versions',
    description: 'Also one that was deleted. With `If-Match` only while nobody else has changed it. That is a new version in turn.',
    scope: 'operate',
    body: v.strictObject({ version: described(v.string(), 'Of the history') }),
    conditional: true,
    success: { description: 'The point as it is now', schema: Teachpoint, headers: ['ETag'] },
    errors: [400, 404, 409, 503],
    async handle(call) {
      const { device_id } = call.rooms.registry.find(call.param('device_id'))
      const { version } = call.body()
      return tagged(await call.rooms.teachpoints.restore(device_id, nameIn(call), version, { tag: wantedTag(call), ...authorOf(call.c) }))
    },
  }),
  route('PUT', point, {
    operation_id: 'updateTeachpoint',
    summary: 'Update a teachpoint',
    description:
      'Replaces it whole. `device_id` and `name` may be left out of the body; they cannot be changed. With `If-Match` only while nobody else has changed it.',
    scope: 'operate',
    body: AddressedTeachpoint,
    conditional: true,
    success: { description: 'The point as it is now', schema: Teachpoint, headers: ['ETag'] },
    errors: [400, 404, 409, 503],
    async handle(call) {
      const { device_id, name } = existing(call)
      const wanted = call.body()
      const point = checked(Teachpoint, { device_id, name, ...wanted }, 'the body')
      return tagged(await call.rooms.teachpoints.replace(device_id, name, point, { tag: wantedTag(call), ...authorOf(call.c) }))
    },
  }),
  route('DELETE', point, {
    operation_id: 'deleteTeachpoint',
    summary: 'Delete a teachpoint',
    scope: 'operate',
    success: { description: 'Gone', schema: OperationResult },
    errors: [404, 503],
    async handle(call) {
      const { device_id, name } = existing(call)
      await call.rooms.teachpoints.delete(device_id, name, authorOf(call.c))
      return json({ success: true, message: `deleted ${JSON.stringify(name)} of ${device_id}` })
    },
  }),
]

function existing({ rooms, param }: Pick<Call<Rooms, unknown, unknown>, 'rooms' | 'param'>): Teachpoint {
  const { device_id } = rooms.registry.find(param('device_id'))
  return rooms.teachpoints.get(device_id, nameIn({ rooms, param }))
}

/** Returns the name without white space at its ends, as it is stored. */
function nameIn({ rooms, param }: Pick<Call<Rooms, unknown, unknown>, 'rooms' | 'param'>): string {
  const name = param('name')
  return rooms.teachpoints.has(param('device_id'), name) ? name : name.trim()
}

function tagged(teachpoint: Teachpoint): Response {
  return json(teachpoint, 200, { ETag: `"${versionOf(teachpoint)}"` })
}

/** Returns the tag of If-Match; undefined without one. */
function wantedTag({ c }: Pick<Call<Rooms, unknown, unknown>, 'c'>): string | undefined {
  const header = c.req.header('if-match')?.trim()
  return header === undefined || header === '*' ? undefined : header.replace(/^"(.*)"$/, '$1')
}

function unwrapped(body: v.InferOutput<typeof Bulk>): { teachpoints: Teachpoint[]; overwrite: boolean; device_id: string | undefined } {
  if (Array.isArray(body)) return { teachpoints: body, overwrite: false, device_id: undefined }
  return { teachpoints: body.teachpoints, overwrite: body.overwrite ?? false, device_id: body.device_id }
}

function mustBelongTo(device_id: string | undefined, teachpoints: readonly Teachpoint[]): void {
  const stranger = teachpoints.find((teachpoint) => device_id !== undefined && teachpoint.device_id !== device_id)
  if (!stranger) return
  throw new LabError('invalid', `the body is of ${device_id}, but its point ${JSON.stringify(stranger.name)} is of ${stranger.device_id}`)
}

function addressOf({ device_id, name }: Teachpoint): string {
  return `/api/teachpoints/${encodeURIComponent(device_id)}/${encodeURIComponent(name)}`
}

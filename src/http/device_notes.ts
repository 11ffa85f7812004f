// The routes of the note and the photo of a device.

import * as v from 'valibot'
import { DeviceNote, type DeviceNotes, DevicePhoto, NoteText } from '../devices/device_notes.ts'
import { OperationResult } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { authorOf } from './author.ts'
import { fileIn } from './body.ts'
import { json, type Route, routesOf } from './contract.ts'
import { harmless } from './headers.ts'
import { answerHeaders } from './open_stream.ts'

type Rooms = { registry: Registry; notes: DeviceNotes }

const route = routesOf<Rooms>('devices')

const path = '/api/devices/:device_id'

const Kept = v.strictObject({
  device_id: v.string(),
  note: described(v.nullable(DeviceNote), 'null without one'),
  photo: described(v.nullable(DevicePhoto), 'null without one; `GET /api/devices/{device_id}/photo` gives it'),
})

export const deviceNoteRoutes: Route<Rooms>[] = [
  route('GET', `${path}/note`, {
    operation_id: 'getDeviceNote',
    summary: 'Get the note about a device, and whether it has a photo',
    scope: 'read',
    success: { description: 'The note and the photo', schema: Kept },
    errors: [404],
    async handle({ rooms, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      const photo = await rooms.notes.photo(device_id)
      const about = photo && { media_type: photo.media_type, bytes: photo.bytes, sha256: photo.sha256 }
      return json({ device_id, note: rooms.notes.get(device_id), photo: about })
    },
  }),
  route('PUT', `${path}/note`, {
    operation_id: 'putDeviceNote',
    summary: 'Write the note about a device, in the place of the one before',
    description: 'The note is in the backups. It is on the disk when this answers.',
    scope: 'operate',
    body: v.strictObject({ text: NoteText }),
    success: { description: 'The note', schema: DeviceNote },
    errors: [404, 503],
    async handle({ rooms, c, param, body }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      const note = { text: body().text, ...authorOf(c), at: Date.now() / 1000 }
      await rooms.notes.set(device_id, note)
      return json(note)
    },
  }),
  route('DELETE', `${path}/note`, {
    operation_id: 'deleteDeviceNote',
    summary: 'Delete the note about a device',
    scope: 'operate',
    success: { description: 'There is no note', schema: OperationResult },
    errors: [404, 503],
    async handle({ rooms, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      await rooms.notes.set(device_id, undefined)
      return json({ success: true, message: `the note about ${device_id} is deleted` })
    },
  }),
  route('GET', `${path}/photo`, {
    operation_id: 'fetchDevicePhoto',
    summary: 'Get the photo of a device',
    scope: 'read',
    success: { description: 'The picture, with its own media type: JPEG, PNG or WebP', media_type: 'image/jpeg' },
    errors: [404],
    async handle({ rooms, c, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      const photo = await rooms.notes.photo(device_id)
      if (!photo) throw new LabError('not_found', `${device_id} has no photo; PUT /api/devices/${device_id}/photo stores one`)
      const headers = { ...answerHeaders(photo.media_type), ...harmless, 'Content-Length': String(photo.bytes) }
      return new Response(c.req.method === 'HEAD' ? null : (photo.content as Uint8Array<ArrayBuffer>), { headers })
    },
  }),
  route('PUT', `${path}/photo`, {
    operation_id: 'putDevicePhoto',
    summary: 'Store the photo of a device, in the place of the one before',
    description:
      'The body is a JPEG, a PNG or a WebP of at most 1 MiB, as its first bytes say: the header Content-Type is not looked at. The photo is in the backups. ' +
      'It is on the disk when this answers.',
    scope: 'operate',
    takes_file: true,
    success: { description: 'The photo is stored', schema: DevicePhoto },
    errors: [404, 413, 415, 503],
    async handle({ rooms, c, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      const { media_type, bytes, sha256 } = await rooms.notes.takePhoto(device_id, fileIn(c))
      return json({ media_type, bytes, sha256 })
    },
  }),
  route('DELETE', `${path}/photo`, {
    operation_id: 'deleteDevicePhoto',
    summary: 'Delete the photo of a device',
    scope: 'operate',
    success: { description: 'There is no photo', schema: OperationResult },
    errors: [404, 503],
    async handle({ rooms, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      await rooms.notes.removePhoto(device_id)
      return json({ success: true, message: `the photo of ${device_id} is deleted` })
    },
  }),
]

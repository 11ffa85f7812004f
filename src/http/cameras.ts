// The routes of the cameras. The service fetches their pictures, so that a browser asks nobody else.

import * as v from 'valibot'
import type { Pictures } from '../bench/pictures.ts'
import type { Picture } from '../cameras/picture.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'
import { harmless } from './headers.ts'
import { answerHeaders } from './open_stream.ts'

type Rooms = { pictures: Pick<Pictures, 'cameras'> }

const route = routesOf<Rooms>('system')

export const pictureSuccess = { description: 'The picture: JPEG, PNG or WebP', media_type: 'image/*' }

export const cameraRoutes: Route<Rooms>[] = [
  route('GET', '/api/cameras', {
    operation_id: 'listCameras',
    summary: 'List the cameras of the configuration, and why one brought no picture',
    scope: 'read',
    success: {
      description: 'The cameras, in the order of the configuration',
      schema: v.strictObject({
        cameras: v.array(
          v.strictObject({
            name: v.string(),
            taken_at: described(v.nullable(v.number()), 'Unix time of the last picture; null if none was asked for since the start', 's'),
            failure: described(v.nullable(v.string()), 'Why the last request brought no picture; null if it did'),
            at_incidents: described(v.boolean(), 'Whether a picture is kept with each incident'),
            at_run_ends: described(v.boolean(), 'Whether a picture becomes a file of each LIVE run when the run ends'),
          }),
        ),
      }),
    },
    handle: ({ rooms }) => json({ cameras: rooms.pictures.cameras.list() }),
  }),
  route('GET', '/api/cameras/:camera/picture', {
    operation_id: 'getPicture',
    summary: 'Get a picture of a camera that is at most a second old',
    description:
      'The service asks a camera once a second at most, for two seconds at most, and takes at most 1 MiB. 500 if the camera brings no picture: the detail says why.',
    scope: 'read',
    success: pictureSuccess,
    errors: [404],
    handle: async ({ rooms, param }) => pictureAnswer(await rooms.pictures.cameras.picture(param('camera'))),
  }),
]

/** Returns the answer with a picture of a camera. */
export function pictureAnswer({ bytes, media_type, taken_at }: Picture): Response {
  return new Response(bytes, {
    headers: {
      ...answerHeaders(media_type),
      'Cache-Control': 'no-store',
      'Content-Length': String(bytes.length),
      'Last-Modified': new Date(taken_at * 1000).toUTCString(),
      ...harmless,
    },
  })
}

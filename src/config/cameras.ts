// The settings of the cameras that look at the bench.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Id } from '../kit/name.ts'

const Address = described(
  v.pipe(
    v.string(),
    v.maxLength(2000),
    v.check(
      (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
      'it must be an address that begins with http:// or https://',
    ),
  ),
  'Where the service fetches a picture (JPEG, PNG or WebP), http:// or https://; may hold user:password@, and is never shown. Redirects are not followed',
)

export const Camera = v.strictObject({
  name: described(Id, 'The name of the camera on the page and in the API'),
  url: Address,
  at_incidents: v.optional(described(v.boolean(), 'Whether a picture is kept with each incident; the newest hundred are kept'), false),
  at_run_ends: v.optional(described(v.boolean(), 'Whether a picture becomes a file of each LIVE run when the run ends'), false),
})
export type Camera = v.InferOutput<typeof Camera>

export const Cameras = described(
  v.pipe(
    v.array(Camera),
    v.maxLength(8),
    v.check(
      (cameras) => new Set(cameras.map(({ name }) => name)).size === cameras.length,
      'two cameras have the same name: give each its own',
    ),
  ),
  'Cameras that look at the bench',
)

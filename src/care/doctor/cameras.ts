// The cameras of the configuration: whether each brings a picture.

import { pictureFrom } from '../../cameras/picture.ts'
import { messageOf } from '../../errors.ts'
import { systemClock } from '../../kit/clock.ts'
import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

/** Returns no findings without a camera in the configuration. */
export async function cameras({ config, is_this }: Patient): Promise<Finding[]> {
  const { ok, warn, skip } = finder('cameras')
  if (!config?.cameras.length) return []
  if (!is_this) return [skip('the cameras of another computer are not asked')]
  const closing = new AbortController().signal
  return Promise.all(
    config.cameras.map(async ({ name, url }) => {
      try {
        const { bytes, media_type } = await pictureFrom(url, { clock: systemClock, closing })
        return ok(`${name} sent a picture: ${media_type}, ${Math.ceil(bytes.length / 1024)} KiB`)
      } catch (error) {
        return warn(
          `the camera ${name} ${messageOf(error)}`,
          'see that the camera is switched on and in this network, and its url in cameras',
        )
      }
    }),
  )
}

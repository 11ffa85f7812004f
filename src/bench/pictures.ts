// The cameras of the bench, and the pictures that are kept with incidents and with the ends of runs. Nothing waits for a picture.

import { Cameras } from '../cameras/cameras.ts'
import { KeptPictures } from '../cameras/kept_pictures.ts'
import type { Picture } from '../cameras/picture.ts'
import { mustHaveRoom } from '../care/host.ts'
import type { Config } from '../config.ts'
import { LabError, messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { LateRuns } from './late_runs.ts'

type Around = { data_dir: string; hub: Hub; clock: Clock; log: Log; config(): Config; runs(): LateRuns }
type When = 'at_incidents' | 'at_run_ends'

export type Pictures = {
  cameras: Cameras
  kept: KeptPictures
  /** Ends the requests to cameras, and waits for pictures that are being written. */
  close(): Promise<void>
}

const mostUnderWay = 16
const ends = new Set(['COMPLETED', 'FAILED', 'ABORTED'])

export async function openPictures({ data_dir, hub, clock, log, config, runs }: Around): Promise<Pictures> {
  const cameras = new Cameras({ cameras: () => config().cameras, clock })
  const kept = await KeptPictures.open({ folder: `${data_dir}/pictures`, mustHaveRoom: (bytes) => mustHaveRoom(data_dir, bytes) })
  const underWay = new Set<Promise<void>>()
  let isClosed = false
  const take = (when: When, keep: (camera: string, picture: Picture) => Promise<unknown>) => {
    for (const { name } of config().cameras.filter((camera) => camera[when])) {
      if (isClosed || underWay.size >= mostUnderWay) return
      const taking = cameras
        .picture(name)
        .then((picture) => keep(name, picture))
        .catch((error) => log.warn(`no picture is kept: ${messageOf(error)}`))
        .then(() => void underWay.delete(taking))
      underWay.add(taking)
    }
  }
  hub.registerSink({
    name: 'pictures',
    onEvent({ entity_type, entity_id, status, context }: RuntimeEvent) {
      const { incident_id, execution_id } = context as { incident_id?: string; execution_id?: string | null }
      const isRehearsed = typeof execution_id === 'string' && runs().isRehearsed(execution_id)
      if (entity_type === 'INCIDENT' && incident_id && !isRehearsed)
        take('at_incidents', (camera, picture) => kept.keep(incident_id, camera, picture))
      if (entity_type === 'EXECUTION' && ends.has(status) && runs().isLive(entity_id))
        take('at_run_ends', (camera, picture) => attached(runs(), entity_id, camera, picture))
    },
  })
  return {
    cameras,
    kept,
    async close() {
      isClosed = true
      cameras.close()
      await Promise.all(underWay)
      await kept.settled()
    },
  }
}

/** Makes the picture a file of the run. */
async function attached(runs: LateRuns, execution_id: string, camera: string, { bytes, media_type, taken_at }: Picture): Promise<void> {
  const at = new Date(taken_at * 1000).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  const name = `camera-${camera}-${at}.${media_type.slice('image/'.length)}`
  const about = { by: null, name, media_type, note: `Taken by the camera ${camera} at the end of the run` }
  const pieces = (async function* () {
    yield bytes
  })()
  await runs.opened.attached.attach(execution_id, { pieces, about, announced: { bytes: bytes.length } }).catch((error) => {
    throw new LabError('storage', `the end of execution ${execution_id.slice(0, 8)}: ${messageOf(error)}`, { cause: error })
  })
}

// Safe mode, after repeated crashes of the service: reading, stopping and editing are allowed, but motions are refused
// until a person has acknowledged its incident.

import { LabError } from '../errors.ts'
import type { Incident } from '../events/incidents.ts'
import type { Route } from './contract.ts'

/** The part of the bench that tells whether it is in safe mode. */
type Rooms = { safe_mode: Incident | undefined }

/** The routes of scope operate that move nothing. All others are assumed to move something. */
const movesNothing = new Set([
  'acknowledgeIncident',
  'clearDeviceFault',
  'leaseDevice',
  'releaseDevice',
  'putPreset',
  'deletePreset',
  'putDeviceNote',
  'deleteDeviceNote',
  'putDevicePhoto',
  'deleteDevicePhoto',
  'createTeachpoint',
  'importTeachpoints',
  'updateTeachpoint',
  'deleteTeachpoint',
  'restoreTeachpoint',
  ...['pauseQueue', 'clearQueue', 'removeFromQueue', 'moveInQueue'],
  'pauseExecution',
  'stopExecution',
  'closeExecution',
  'relocateLabware',
  'correctInventory',
  'pauseThread',
  'stopThread',
  'simulate',
])

/** Throws `safe_mode`, naming the incident to acknowledge. */
export function mustNotBeSafeMode({ safe_mode }: Rooms, { scope, operation_id }: Route): void {
  if (!safe_mode || scope !== 'operate' || movesNothing.has(operation_id)) return
  const { incident_id } = safe_mode
  throw new LabError(
    'safe_mode',
    `the service is in safe mode and moves nothing; when all is well: POST /api/incidents/${incident_id}/acknowledge`,
  )
}

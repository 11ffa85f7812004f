// The routes that are loaded at the start, noun by noun.

import type { Bench } from '../bench/bench.ts'
import { auditRoutes } from './audit.ts'
import { backupRoutes } from './backups.ts'
import { cameraRoutes } from './cameras.ts'
import { confirmationRoutes } from './confirmations.ts'
import type { Route } from './contract.ts'
import { deviceCommandRoutes } from './device_commands.ts'
import { deviceNoteRoutes } from './device_notes.ts'
import { deviceRoutes } from './devices.ts'
import { eventRoutes } from './events.ts'
import { fleetRoutes } from './fleet.ts'
import { keyRoutes } from './keys.ts'
import { metricRoutes } from './metrics.ts'
import { mqttRoutes } from './mqtt.ts'
import { newDeviceRoutes } from './new_devices.ts'
import { notifyRoutes } from './notify.ts'
import { operationRoutes } from './operations.ts'
import { pluginRoutes } from './plugins.ts'
import { presetRoutes } from './presets.ts'
import { selfCareRoutes } from './self_care.ts'
import { simulationRoutes } from './simulation.ts'
import { systemRoutes } from './system.ts'
import { teachpointRoutes } from './teachpoints.ts'

/** The rooms that are open from the start. A route that uses runs belongs into `run_routes.ts`. */
type Rooms = Omit<Bench, 'runs'>

export const serviceRoutes: readonly Route<Rooms>[] = [
  ...deviceRoutes,
  ...newDeviceRoutes,
  ...deviceCommandRoutes,
  ...deviceNoteRoutes,
  ...operationRoutes,
  ...presetRoutes,
  ...teachpointRoutes,
  ...eventRoutes,
  ...simulationRoutes,
  ...keyRoutes,
  ...confirmationRoutes,
  ...systemRoutes,
  ...auditRoutes,
  ...selfCareRoutes,
  ...backupRoutes,
  ...notifyRoutes,
  ...cameraRoutes,
  ...pluginRoutes,
  ...fleetRoutes,
  ...mqttRoutes,
  ...metricRoutes,
]

/** The roots of the routes in `run_routes.ts`, which is loaded with the workflows at the first request to one of them. */
export const runPaths = [
  '/api/topologies/*',
  '/api/topology/*',
  '/api/system/reload',
  '/api/workflows/*',
  '/api/submissions/*',
  '/api/queue/*',
  '/api/simulations/*',
  '/api/devices/:device_id/inventory',
  '/api/executions/*',
  '/api/threads/*',
  '/api/operator/*',
  '/api/incidents/*',
  '/api/labware/*',
  '/api/live',
  '/api/sim/executions/*',
] as const

/** Roots that are not routes themselves. */
const bareRoots = ['/api/threads', '/api/operator', '/api/sim/executions']

/** The routes of `run_routes.ts` without parameters, which a refusal may suggest before that file is loaded. */
export const runRoots = runPaths.map((path) => path.replace('/*', '')).filter((path) => !bareRoots.includes(path) && !path.includes(':'))

// Every route there is, noun by noun.

import type { Route } from './contract.ts'
import { deviceRoutes } from './devices.ts'
import { eventRoutes } from './events.ts'
import { keyRoutes } from './keys.ts'
import { metricRoutes } from './metrics.ts'
import { simulationRoutes } from './simulation.ts'
import { systemRoutes } from './system.ts'
import { teachpointRoutes } from './teachpoints.ts'

export const routes: readonly Route[] = [
  ...deviceRoutes,
  ...teachpointRoutes,
  ...eventRoutes,
  ...simulationRoutes,
  ...keyRoutes,
  ...systemRoutes,
  ...metricRoutes,
]

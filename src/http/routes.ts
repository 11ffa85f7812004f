// Every route there is, noun by noun.

import type { Route } from './contract.ts'
import { deviceRoutes } from './devices.ts'
import { dryRunRoutes } from './dry_runs.ts'
import { eventRoutes } from './events.ts'
import { executionRoutes } from './executions.ts'
import { incidentRoutes } from './incidents.ts'
import { keyRoutes } from './keys.ts'
import { labwareRoutes } from './labware.ts'
import { metricRoutes } from './metrics.ts'
import { operatorRoutes } from './operator.ts'
import { simulationRoutes } from './simulation.ts'
import { submissionRoutes } from './submissions.ts'
import { systemRoutes } from './system.ts'
import { teachpointRoutes } from './teachpoints.ts'
import { threadRoutes } from './threads.ts'
import { topologyRoutes } from './topology.ts'
import { workflowRoutes } from './workflows.ts'

export const routes: readonly Route[] = [
  ...deviceRoutes,
  ...teachpointRoutes,
  ...topologyRoutes,
  ...workflowRoutes,
  ...submissionRoutes,
  ...dryRunRoutes,
  ...executionRoutes,
  ...threadRoutes,
  ...operatorRoutes,
  ...incidentRoutes,
  ...labwareRoutes,
  ...eventRoutes,
  ...simulationRoutes,
  ...keyRoutes,
  ...systemRoutes,
  ...metricRoutes,
]

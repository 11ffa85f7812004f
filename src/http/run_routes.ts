// The routes about workflows, noun by noun; none is public. `service_routes.ts` lists their paths too.

import type { Bench } from '../bench/bench.ts'
import type { Route } from './contract.ts'
import { dryRunRoutes } from './dry_runs.ts'
import { executionRoutes } from './executions.ts'
import { incidentRoutes } from './incidents.ts'
import { inventoryRoutes } from './inventory.ts'
import { labwareRoutes } from './labware.ts'
import { labwareHistoryRoutes } from './labware_history.ts'
import { liveRoutes } from './live.ts'
import { operatorRoutes } from './operator.ts'
import { queueRoutes } from './queue.ts'
import { runFaultRoutes } from './run_faults.ts'
import { runFileRoutes } from './run_files.ts'
import { runForecastRoutes } from './run_forecast.ts'
import { runRecordRoutes } from './run_records.ts'
import { runReportRoutes } from './run_report.ts'
import { runWorkflowRoutes } from './run_workflow.ts'
import { sampleRoutes } from './samples.ts'
import { submissionRoutes } from './submissions.ts'
import { threadRoutes } from './threads.ts'
import { topologyRoutes } from './topology.ts'
import { versionRoutes } from './versions.ts'
import { workflowRoutes } from './workflows.ts'

export const runRoutes: readonly Route<Bench>[] = [
  ...topologyRoutes,
  ...workflowRoutes,
  ...sampleRoutes,
  ...versionRoutes,
  ...submissionRoutes,
  ...queueRoutes,
  ...dryRunRoutes,
  ...executionRoutes,
  ...runRecordRoutes,
  ...runWorkflowRoutes,
  ...runForecastRoutes,
  ...runFileRoutes,
  ...runReportRoutes,
  ...threadRoutes,
  ...operatorRoutes,
  ...incidentRoutes,
  ...labwareRoutes,
  ...inventoryRoutes,
  ...labwareHistoryRoutes,
  ...liveRoutes,
  ...runFaultRoutes,
]

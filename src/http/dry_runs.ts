// The route of dry runs of a submission.

import type { Runs } from '../bench/runs.ts'
import { DryRun } from '../workflow/dry_run.ts'
import { SubmissionBody } from '../workflow/state/submission_request.ts'
import { json, type Route, routesOf } from './contract.ts'
import { longestSubmission } from './samples.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('runs')

export const dryRunRoutes: Route<Rooms>[] = [
  route('POST', '/api/simulations', {
    operation_id: 'simulate',
    summary: 'Try out a submission on the clock alone',
    description:
      'The same engine on time that jumps, answered when it has come to its end. Nothing is emitted, recorded or moved, also while runs are open; handlers are ' +
      'not called, and a person does at once what is asked. Operations take what is declared, what was learned in that mode, or what is usual. ' +
      'In LIVE, places where labware stands now are taken in it too.',
    scope: 'operate',
    // The form of a new run asks after each change.
    is_unrecorded: true,
    body: SubmissionBody,
    body_limit: longestSubmission,
    success: { description: 'The outcome that the run would have', schema: DryRun },
    errors: [400, 404, 503],
    handle: async ({ rooms, body }) => json(await rooms.runs.runtime.dryRuns.simulate(body())),
  }),
]

// The objective of a plan.

import * as v from 'valibot'

/** `makespan`: the last labware is done early. `flow_time`: each labware is done early. `open_time`: labware waits little between its steps. */
export const Objective = v.picklist(['makespan', 'flow_time', 'open_time'])
export type Objective = v.InferOutput<typeof Objective>

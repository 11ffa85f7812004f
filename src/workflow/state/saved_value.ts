// A value that an action of a run has saved for later steps.

import * as v from 'valibot'

/** The result of a measurement. */
export const Scalar = v.union(
  [v.pipe(v.number(), v.finite()), v.pipe(v.string(), v.maxLength(1000)), v.boolean()],
  'must be a number, a text of at most 1000 characters, true or false',
)
export type Scalar = v.InferOutput<typeof Scalar>

const Text = v.nullable(v.string())

/** Without a group, the value serves all groups. */
export const ValueState = v.object({
  name: v.string(),
  submission_id: Text,
  group_id: Text,
  value: v.union([v.number(), v.string(), v.boolean()]),
})
export type ValueState = v.InferOutput<typeof ValueState>

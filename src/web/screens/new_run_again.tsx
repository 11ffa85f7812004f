// The values of the form of a new run: what is sent, and how they are found from an earlier run.

import type { PutWorkflowResponse, SubmissionRequest } from '../../clients/ts/benchd.ts'
import { variableValue } from '../../clients/ts/variable_value.ts'
import { bench } from '../store.tsx'

/** The text of a variable, and its type from the service. */
export type Typed = { text: string; type: string | undefined }
/** `plates`: the groups of an earlier run with their plates, as long as their number is not changed. */
export type Wish = {
  workflow: string
  mode: SubmissionRequest['run_mode']
  groups: string
  variables: Record<string, Typed>
  tags: string
  /** `off`: the bench decides step by step. */
  plan: 'on' | 'off'
  priority: string
  /** Empty: as the workflow says. */
  objective: string
  plates?: SubmissionRequest['groups'] | undefined
  /** A sheet in place of the groups; empty for none. */
  samples: string
}
/** The order of the labware is planned, as is usual. */
export const noOrder = { plan: 'on', priority: '0', objective: '' } as const

/** `at`: when the earlier run was submitted, Unix time, s. */
export type Again = { wish: Wish; at: number; hasPlates: boolean }

export function requestOf({
  workflow,
  mode,
  groups,
  variables,
  tags,
  plan,
  priority,
  objective,
  plates,
  samples,
}: Wish): SubmissionRequest {
  const filled = Object.entries(variables).filter(([, { text }]) => text !== '')
  const count = Number(groups)
  const numbered = Array.from({ length: count }, (_, i) => ({ group_id: `group-${i + 1}` }))
  const words = tags.split(',').flatMap((tag) => tag.trim() || [])
  return {
    workflow,
    run_mode: mode,
    ...(samples.trim() !== '' ? { samples } : plates?.length === count ? { groups: plates } : count > 1 && { groups: numbered }),
    variables: Object.fromEntries(filled.map(([name, { text, type }]) => [name, variableValue(text, type)])),
    ...(words.length > 0 && { tags: words }),
    ...(plan === 'off' && { plan }),
    ...(Number(priority) !== 0 && { priority: Number(priority) }),
    ...(objective !== '' && { objective: objective as NonNullable<SubmissionRequest['objective']> }),
  }
}

/** Finds the values of a run; undefined if it or its workflow is gone. */
export async function againFrom(execution_id: string, workflows: readonly PutWorkflowResponse[]): Promise<Again | undefined> {
  const path = { execution_id }
  const run = await bench.value?.call('getExecution', { path }).catch(() => undefined)
  const [submission] = run?.submissions ?? []
  const workflow = workflows.find(({ name }) => name === run?.workflow_name)
  if (!run || !submission || !workflow) return undefined
  // The record alone has the plates of the groups; a run that was planned only has no record.
  const found =
    run.run_mode === 'PURE_SIM'
      ? undefined
      : await bench.value?.call('getRecord', { path, query: { kind: 'submission' } }).catch(() => undefined)
  const { groups: recorded, plan, priority = 0, objective = '' } = found?.rows[0] ?? {}
  const plates = (recorded ?? submission.group_ids.map((group_id) => ({ group_id }))) as Wish['plates'] & object
  const variables = Object.entries(submission.variables).map(([name, value]): [string, Typed] => [
    name,
    { text: typeof value === 'string' ? value : JSON.stringify(value), type: workflow.variables[name]?.type },
  ])
  return {
    at: submission.submitted_at,
    hasPlates: plates.some(({ members }) => Object.keys(members ?? {}).length > 0),
    wish: {
      workflow: workflow.name,
      mode: run.run_mode,
      groups: String(Math.max(1, plates.length)),
      variables: Object.fromEntries(variables),
      tags: (submission.tags ?? []).join(', '),
      ...{ plan: plan === 'off' ? 'off' : 'on', priority: String(priority), objective: String(objective) },
      plates: plates.length ? plates : undefined,
      samples: '',
    },
  }
}

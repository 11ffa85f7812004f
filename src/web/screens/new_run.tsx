// The screen New run: the workflow as lanes, the mode and values of a run, checks and the forecast before the start.

import { type Signal, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type CheckSamplesResponse, modeWords, type PutWorkflowResponse } from '../../clients/ts/benchd.ts'
import { Choice, Empty, Text, useAnswer } from '../parts.tsx'
import { bench, movesNothingReal, route, state } from '../store.tsx'
import { clockTime } from '../words.ts'
import { type Again, againFrom, noOrder, type Wish } from './new_run_again.tsx'
import { Begin } from './new_run_begin.tsx'
import { Samples } from './new_run_samples.tsx'
import { VariableField } from './new_run_values.tsx'
import { WorkflowFiles } from './workflow_files.tsx'
import { WorkflowLanes } from './workflow_lanes.tsx'

export function NewRunScreen() {
  const [, , from] = route.value
  const workflows = useSignal<PutWorkflowResponse[] | undefined>(undefined)
  const again = useSignal<Again | undefined>(undefined)
  const mode = movesNothingReal.value ? 'LIVE' : 'DEVICE_SIM'
  const wish = useSignal<Wish>({ workflow: '', mode, groups: '1', variables: {}, tags: '', samples: '', ...noOrder })
  const checked = useSignal<CheckSamplesResponse | undefined>(undefined)
  const read = async () => {
    const found = (await bench.value?.call('listWorkflows').catch(() => undefined))?.workflows
    if (!found) return
    const before = from ? await againFrom(from, found) : undefined
    if (before) {
      again.value = before
      wish.value = before.wish
    }
    workflows.value = found
    if (found.some(({ name }) => name === wish.value.workflow)) return
    const fitting = found.find(({ topology }) => state.value.topology[topology]) ?? found[0]
    wish.value = { ...wish.value, workflow: fitting?.name ?? '' }
  }
  useEffect(() => void read(), [from])
  if (!workflows.value) return <Empty>Loading the workflows …</Empty>
  if (workflows.value.length === 0)
    return (
      <section aria-label="New run">
        <Empty>There is no workflow. Put one into the folder of topologies, or upload a file.</Empty>
        <WorkflowFiles workflow={undefined} onChanged={read} />
      </section>
    )
  const workflow = workflows.value.find(({ name }) => name === wish.value.workflow)
  return (
    <section aria-label="New run" class="new-run">
      <h2>New run</h2>
      {again.value && (
        <p class="hint">
          The values are those of the run of {clockTime(again.value.at)}
          {again.value.hasPlates && ', with the plates and barcodes of its groups'}. Nothing has started.
        </p>
      )}
      <WishForm workflows={workflows.value} workflow={workflow} wish={wish} />
      <Begin wish={wish.value} topology={workflow?.topology} checked={checked.value}>
        {workflow && <Picture key={workflow.hash} name={workflow.name} />}
        {workflow && <Samples workflow={workflow} wish={wish} checked={checked} />}
        <Values workflow={workflow} wish={wish} />
        <Order wish={wish} />
      </Begin>
      <WorkflowFiles workflow={workflow} onChanged={read} />
    </section>
  )
}

function Picture({ name }: { name: string }) {
  const found = useAnswer('getWorkflow', { path: { workflow_name: name } }, [name])
  return <WorkflowLanes document={found.value?.document as never} />
}

type WishProps = { workflows: readonly PutWorkflowResponse[]; workflow: PutWorkflowResponse | undefined; wish: Signal<Wish> }

function WishForm({ workflows, workflow, wish }: WishProps) {
  const { workflow: name, mode, groups } = wish.value
  const set = (change: Partial<Wish>) => {
    wish.value = { ...wish.value, ...change }
  }
  const choices = Object.fromEntries(workflows.map(({ name, topology }) => [name, `${name} (topology ${topology})`]))
  return (
    <div class="fields">
      <Choice
        label="Workflow"
        value={name}
        onChange={(workflow) => set({ workflow, variables: {}, plates: undefined })}
        choices={choices}
      />
      {workflow?.warnings.map((warning) => (
        <p class="hint" key={warning}>
          {warning}
        </p>
      ))}
      <Choice label="Mode" value={mode} onChange={(mode) => set({ mode: mode as Wish['mode'] })} choices={modeWords} />
      {wish.value.samples === '' && (
        <div class="field">
          <label for="new-groups">Groups</label>
          <input
            id="new-groups"
            class="short"
            inputMode="numeric"
            value={groups}
            onInput={(event) => set({ groups: event.currentTarget.value })}
          />
        </div>
      )}
    </div>
  )
}

const orders = { on: 'plan it ahead (usual)', off: 'decide step by step' }
const objectives = {
  '': 'what the workflow says (usual: the whole run)',
  makespan: 'the whole run',
  flow_time: 'the time of each labware on the bench',
  open_time: 'the waits between the steps of a labware',
}
/** The order in which the labware is served. */
function Order({ wish }: Pick<WishProps, 'wish'>) {
  const { plan, priority, objective } = wish.value
  const set = (change: Partial<Wish>) => {
    wish.value = { ...wish.value, ...change }
  }
  return (
    <details class="changes">
      <summary>Order of the labware</summary>
      <div class="fields">
        <Choice label="Order" value={plan} onChange={(chosen) => set({ plan: chosen as Wish['plan'] })} choices={orders} />
        <Choice label="Make short" value={objective} onChange={(chosen) => set({ objective: chosen })} choices={objectives} />
        <div class="field">
          <label for="new-priority">Priority over other runs</label>
          <input
            id="new-priority"
            class="short"
            type="number"
            min="-9"
            max="9"
            value={priority}
            onInput={(event) => set({ priority: event.currentTarget.value })}
          />
          <small>From -9 to 9; the run with the higher number goes first.</small>
        </div>
      </div>
    </details>
  )
}

/** The variables of the workflow, and the tags of the run. */
function Values({ workflow, wish }: Pick<WishProps, 'workflow' | 'wish'>) {
  const { workflow: name } = wish.value
  const tags = useSignal(wish.value.tags)
  useSignalEffect(() => {
    if (tags.value !== wish.peek().tags) wish.value = { ...wish.peek(), tags: tags.value }
  })
  return (
    <div class="fields">
      {Object.entries(workflow?.variables ?? {}).map(([variable, its]) => (
        <VariableField key={`${name} ${variable}`} name={variable} its={its} wish={wish} />
      ))}
      <Text id="new-tags" label="Tags" placeholder="words, with commas between" of={tags} />
    </div>
  )
}

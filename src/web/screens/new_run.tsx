// The screen New run: the workflow, mode and values of a run, with a dry run before the start.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { modeWords, type PutWorkflowResponse, type SimulateResponse } from '../../clients/ts/benchd.ts'
import { variableValue } from '../../clients/ts/variable_value.ts'
import { variableLabel } from '../forms.ts'
import { type Bar, Gantt } from '../gantt.tsx'
import { Act, Choice, devicesMayMove, Empty } from '../parts.tsx'
import { ask, bench, movesNothingReal, state, timeScale } from '../store.tsx'
import { forecastWords, sentence } from '../words.ts'
import { WorkflowFiles } from './workflow_files.tsx'

/** The values of the form. */
type Wish = { workflow: string; mode: keyof typeof modeWords; groups: string; variables: Record<string, Typed> }
/** The text of a variable, and its type from the service. */
type Typed = { text: string; type: string | undefined }

export function NewRunScreen() {
  const workflows = useSignal<PutWorkflowResponse[] | undefined>(undefined)
  const wish = useSignal<Wish>({ workflow: '', mode: movesNothingReal.value ? 'LIVE' : 'DEVICE_SIM', groups: '1', variables: {} })
  const read = () =>
    bench.value?.call('listWorkflows').then(
      ({ workflows: found }) => {
        workflows.value = found
        if (found.some(({ name }) => name === wish.value.workflow)) return
        const fitting = found.find(({ topology }) => state.value.topology[topology]) ?? found[0]
        wish.value = { ...wish.value, workflow: fitting?.name ?? '' }
      },
      () => undefined,
    )
  useEffect(() => void read(), [])
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
    <section aria-label="New run">
      <h2>New run</h2>
      <WishForm workflows={workflows.value} workflow={workflow} wish={wish} />
      {workflow && wish.value.mode !== 'PURE_SIM' && !state.value.topology[workflow.topology] && (
        <p class="hint">
          This workflow needs the topology {workflow.topology}.{' '}
          <Act
            label={`Load topology ${workflow.topology}`}
            onPress={() => ask('loadTopology', { body: { name: workflow.topology, force: false } })}
          />
        </p>
      )}
      <Begin key={JSON.stringify(wish.value)} wish={wish.value} />
      <WorkflowFiles workflow={workflow} onChanged={read} />
    </section>
  )
}

/** Says what moves in a mode. */
function modeHint(mode: Wish['mode']): string {
  if (mode === 'PURE_SIM') return 'Nothing moves, and no time passes.'
  if (mode === 'DEVICE_SIM') return 'Each device is replaced by a simulator of its own; the devices of the bench do not move.'
  return movesNothingReal.value ? 'The simulated devices of this bench work, as Bench and Deck show.' : 'The devices of this bench move.'
}

type WishProps = { workflows: readonly PutWorkflowResponse[]; workflow: PutWorkflowResponse | undefined; wish: Signal<Wish> }

function WishForm({ workflows, workflow, wish }: WishProps) {
  const { workflow: name, mode, groups, variables } = wish.value
  const set = (change: Partial<Wish>) => {
    wish.value = { ...wish.value, ...change }
  }
  const choices = Object.fromEntries(workflows.map(({ name, topology }) => [name, `${name} (topology ${topology})`]))
  return (
    <div class="fields">
      <Choice label="Workflow" value={name} onChange={(workflow) => set({ workflow, variables: {} })} choices={choices} />
      {workflow?.warnings.map((warning) => (
        <p class="hint" key={warning}>
          {warning}
        </p>
      ))}
      <Choice label="Mode" value={mode} onChange={(mode) => set({ mode: mode as Wish['mode'] })} choices={modeWords} />
      <div class="field">
        <label for="new-groups">Groups</label>
        <input id="new-groups" inputMode="numeric" value={groups} onInput={(event) => set({ groups: event.currentTarget.value })} />
      </div>
      {Object.entries(workflow?.variables ?? {}).map(([variable, { default: initial, description, type }]) => (
        <div class="field" key={`${name} ${variable}`}>
          <label for={`variable-${variable}`}>{variableLabel(variable, description)}</label>
          <input
            id={`variable-${variable}`}
            placeholder={initial === undefined ? 'required' : JSON.stringify(initial)}
            value={variables[variable]?.text ?? ''}
            onInput={(event) => set({ variables: { ...variables, [variable]: { text: event.currentTarget.value, type } } })}
          />
          {description && <small>{description}</small>}
        </div>
      ))}
    </div>
  )
}

function requestOf({ workflow, mode, groups, variables }: Wish) {
  const filled = Object.entries(variables).filter(([, { text }]) => text !== '')
  const count = Number(groups)
  return {
    workflow,
    run_mode: mode,
    ...(count > 1 && { groups: Array.from({ length: count }, (_, i) => ({ group_id: `group-${i + 1}` })) }),
    variables: Object.fromEntries(filled.map(([name, { text, type }]) => [name, variableValue(text, type)])),
  }
}

/** The buttons and the forecast, made anew with each change of the form, so that a forecast never stands beside other values. */
function Begin({ wish }: { wish: Wish }) {
  const tried = useSignal<SimulateResponse | undefined>(undefined)
  const start = async () => {
    const answer = await ask('submit', { body: requestOf(wish), idempotencyKey: `page-${Date.now()}-${Math.random()}` })
    if (answer) location.hash = `#/runs/${answer.execution_id}`
  }
  const why = /^[1-9]\d{0,3}$/.test(wish.groups) ? undefined : 'Groups must be a whole number from 1.'
  const dryRun = async () => {
    tried.value = await ask('simulate', { body: requestOf(wish) }, { quiet: true })
  }
  return (
    <>
      <div class="row">
        <Act label="Dry run" why={why} onPress={dryRun} />
        <Act
          label="Start run"
          twice={wish.mode === 'LIVE' && !movesNothingReal.value ? devicesMayMove : undefined}
          why={why}
          kind="main"
          onPress={start}
        />
        <p class={why ? 'trouble' : 'hint'}>{why ?? modeHint(wish.mode)}</p>
      </div>
      {tried.value && <Forecast {...tried.value} scale={wish.mode === 'PURE_SIM' ? 1 : timeScale.value} />}
    </>
  )
}

const verdicts: Record<SimulateResponse['verdict'], { word: string; tone: string }> = {
  completes: { word: 'The run completes.', tone: 'good' },
  fails: { word: 'The run fails.', tone: 'bad' },
  deadlock: { word: 'The run ends in a deadlock.', tone: 'bad' },
  waits: { word: 'The run waits for something that never happens.', tone: 'bad' },
  endless: { word: 'The run does not end.', tone: 'bad' },
}

function Forecast({
  scale,
  verdict,
  makespan_s,
  conflict,
  refusal,
  gantt,
  waiting,
  conditions,
  devices,
  moves,
  actions,
}: SimulateResponse & { scale: number }) {
  const { word, tone } = verdicts[verdict]
  const bars = gantt.map(
    ({ thread_name, kind, name, device, from_s, to_s }): Bar => ({
      thread: thread_name,
      kind,
      label: device && kind === 'action' ? `${name} on ${device}` : name,
      from_s,
      to_s,
    }),
  )
  const its = useRef<HTMLElement>(null)
  useEffect(() => its.current?.scrollIntoView({ block: 'nearest' }), [gantt])
  return (
    <section aria-label="Dry run" class="forecast" ref={its}>
      <p class={`state ${tone}`} role="status">
        <strong>{word}</strong> It takes {forecastWords(makespan_s, scale)}, with {actions} actions and {moves} moves.
      </p>
      {refusal && <p class="fault long">{sentence(refusal)}</p>}
      {conflict && <p class="fault long">{sentence(conflict)}</p>}
      {waiting.map(({ thread_id, thread_name, because }) => (
        <p key={thread_id} class="hint long">
          {thread_name}: {because.join('; ')}
        </p>
      ))}
      {conditions.map(({ thread, step, condition, examples, goes, then, else: otherwise }) => (
        <p key={`${thread}/${step}`} class="hint long">
          {thread}, {step}: if {condition}: {then.join(', ') || 'nothing'}; else {otherwise.join(', ') || 'nothing'}. Here “{goes}”, with{' '}
          {Object.entries(examples)
            .map(([name, value]) => `${name} = ${value}`)
            .join(', ')}
          .
        </p>
      ))}
      <Gantt bars={bars} until_s={makespan_s} label="Timeline" />
      <p class="hint">{devices.map(({ device, share }) => `${device} ${Math.round(share * 100)} %`).join(' · ')}</p>
    </section>
  )
}

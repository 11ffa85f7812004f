// The changes of an open run by an operator: skip a step, insert a step, add labware, emit an event.

import { useSignal } from '@preact/signals'
import type { ExecutionSummary, WorkflowDocument } from '../../clients/ts/benchd.ts'
import { Act, Choice, namesOf, Text } from '../parts.tsx'
import { Rehearsal } from '../rehearsal.tsx'
import { ask, bench, ifState, state } from '../store.tsx'

type ChangesProps = { run: ExecutionSummary; shown: string }

/** `shown` is the status for the header If-State. */
export function Changes({ run: { execution_id, workflow_name, run_mode, phase }, shown }: ChangesProps) {
  const workflow = useSignal<WorkflowDocument | undefined>(undefined)
  const isOpen = useSignal(false)
  const path = { execution_id }
  const read = () =>
    bench.value?.call('getWorkflow', { path: { workflow_name } }).then(
      ({ document }) => {
        workflow.value = document as unknown as WorkflowDocument
      },
      () => undefined,
    )
  return (
    <details
      class="changes"
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open
        if (isOpen.value) void read()
      }}
    >
      <summary>Change this run</summary>
      {isOpen.value && workflow.value && <ChangeForms workflow={workflow.value} asked={{ path, ...ifState(shown) }} />}
      <PriorityForm asked={{ path, ...ifState(shown) }} />
      <EmitForm execution_id={execution_id} />
      {phase === 'accepting' && (
        <p class="row">
          <Act label="Close to submissions" onPress={() => ask('closeExecution', { path, body: {}, ...ifState(shown) })} />
          <span class="hint">The run accepts no more submissions, and ends when its threads have ended.</span>
        </p>
      )}
      {run_mode === 'DEVICE_SIM' && (
        <Rehearsal
          devices={Object.keys(state.value.device)}
          onBreak={(device_id, fault) => ask('setFaultOfRun', { path: { execution_id, device_id }, body: { fault } })}
          onMend={(device_id) => ask('clearFaultsOfRun', { path: { execution_id, device_id } })}
        />
      )}
    </details>
  )
}

function ChangeForms({ workflow: { threads, methods = {} }, asked }: { workflow: WorkflowDocument; asked: object }) {
  const steps = Object.entries(threads).flatMap(([thread, { steps }]) =>
    steps.flatMap((step) => ('method' in step && typeof step.method === 'string' ? [`${thread}/${step.name ?? step.method}`] : [])),
  )
  const [item, where, method, thread] = [
    useSignal(steps[0] ?? ''),
    useSignal('before'),
    useSignal(Object.keys(methods)[0] ?? ''),
    useSignal(Object.keys(threads)[0] ?? ''),
  ]
  const why = steps.length === 0 ? 'This workflow has no steps that can be named.' : undefined
  const insert = () => ask('insertStep', { ...asked, body: { [where.value]: item.value, item: { method: method.value } } })
  return (
    <div class="fields">
      <Choice label="Step" of={item} choices={namesOf(steps)} />
      <Act label="Skip this step" why={why} onPress={() => ask('skipStep', { ...asked, body: { item: item.value } })} />
      <Choice label="Insert" of={where} choices={{ before: 'before it', after: 'after it' }} />
      <Choice label="Method" of={method} choices={namesOf(Object.keys(methods))} />
      <Act label="Insert method" why={why} onPress={insert} />
      <Choice label="Thread to add" of={thread} choices={namesOf(Object.keys(threads))} />
      <Act label="Add thread" onPress={() => ask('spawnThread', { ...asked, body: { thread: thread.value } })} />
    </div>
  )
}

/** A form that gives the run another priority. */
function PriorityForm({ asked }: { asked: { path: { execution_id: string } } }) {
  const priority = useSignal('9')
  const isPriority = /^-?[0-9]$/.test(priority.value)
  return (
    <div class="fields">
      <div class="field">
        <label for="run-priority">Priority over other runs</label>
        <input
          id="run-priority"
          class="short"
          type="number"
          min="-9"
          max="9"
          value={priority}
          onInput={(event) => {
            priority.value = event.currentTarget.value
          }}
        />
        <small>From -9 to 9; the run with the higher number goes first.</small>
      </div>
      <Act
        label="Set the priority"
        why={isPriority ? undefined : 'Enter a number from -9 to 9.'}
        onPress={() => ask('prioritizeExecution', { ...asked, body: { priority: Number(priority.value) } })}
      />
    </div>
  )
}

/** A form that adds a note to the record of a run, open or ended. */
export function NoteForm({ execution_id }: { execution_id: string }) {
  const text = useSignal('')
  const add = async () => {
    if (await ask('addNote', { path: { execution_id }, body: { text: text.value } })) text.value = ''
  }
  return (
    <div class="fields">
      <Text id="note" label="Note" of={text} />
      <Act label="Add note" why={text.value.trim() === '' ? 'Enter a text first.' : undefined} onPress={add} />
    </div>
  )
}

/** A form that emits a custom event, for which a step may wait. */
function EmitForm({ execution_id }: { execution_id: string }) {
  const [name, value, group] = [useSignal(''), useSignal(''), useSignal('')]
  const emit = () => {
    const group_id = group.value.trim()
    const body = { name: name.value.trim(), value: value.value === '' ? null : value.value, ...(group_id && { group_id }) }
    return ask('emitCustomEvent', { path: { execution_id }, body })
  }
  return (
    <div class="fields">
      <Text id="emit-name" label="Event" of={name} />
      <Text id="emit-value" label="Value" placeholder="none" of={value} />
      <Text id="emit-group" label="Group" placeholder="all" of={group} />
      <Act label="Emit event" why={name.value.trim() === '' ? 'Enter a name first.' : undefined} onPress={emit} />
    </div>
  )
}

// The button that adds a new run to the queue, in place of its start now, and what an entry of the queue may ask for.

import { type Signal, useSignal } from '@preact/signals'
import { Act, Choice, Text } from '../parts.tsx'
import { noTime, StartFields, type StartWish, startOf, useStart } from '../queue_start.tsx'
import { ask, state } from '../store.tsx'
import { requestOf, type Wish } from './new_run_again.tsx'

/** The members of a queue entry that the form has. `labware` has barcodes and positions, with commas between. */
export type Queued = {
  start: StartWish
  onFailure: Signal<string>
  devices: Signal<readonly string[]>
  labware: Signal<string>
  mayBePassed: Signal<string>
}

const afterFailure = { stop: 'pause the queue (usual)', go_on: 'go on with the next run' }
const whileItWaits = { no: 'wait behind it (usual)', yes: 'may begin before it' }

export function useQueued(): Queued {
  return {
    start: useStart(),
    onFailure: useSignal('stop'),
    devices: useSignal<readonly string[]>([]),
    labware: useSignal(''),
    mayBePassed: useSignal('no'),
  }
}

export function QueueFields(queued: Queued) {
  const isOpen = useSignal(false)
  return (
    <details class="changes" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>In the queue</summary>
      {isOpen.value && <Fields {...queued} />}
    </details>
  )
}

function Fields({ start, onFailure, devices, labware, mayBePassed }: Queued) {
  return (
    <div class="fields">
      <StartFields {...start} />
      <Choice label="If the run fails" of={onFailure} choices={afterFailure} />
      <Choice label="While the bench is not fit for it, the next runs" of={mayBePassed} choices={whileItWaits} />
      <Text id="queue-labware" label="Labware that must stand here" of={labware} placeholder="P-0041, pad_1">
        <small>Barcodes, or positions of the deck, with commas between.</small>
      </Text>
      <Required devices={devices} />
    </div>
  )
}

/** The devices that must be ready before the entry begins, besides those that the run uses. */
function Required({ devices }: Pick<Queued, 'devices'>) {
  const toggle = (id: string) => {
    const others = devices.value.filter((one) => one !== id)
    devices.value = others.length < devices.value.length ? others : [...others, id]
  }
  return (
    <fieldset class="row">
      <legend>Devices that must be ready</legend>
      {Object.keys(state.value.device).map((id) => (
        <button
          key={id}
          type="button"
          class={devices.value.includes(id) ? 'plain open' : 'plain'}
          aria-pressed={devices.value.includes(id)}
          onClick={() => toggle(id)}
        >
          {id}
        </button>
      ))}
    </fieldset>
  )
}

export function AddToQueue({ wish, why, queued }: { wish: Wish; why: string | undefined; queued: Queued }) {
  const { start, onFailure, devices, labware, mayBePassed } = queued
  const start_at = startOf(start)
  const add = async () => {
    const body = {
      submission: requestOf(wish),
      start_at,
      requires: { devices: devices.value, labware: labware.value.split(/[,;\n]/).flatMap((one) => one.trim() || []) },
      on_failure: onFailure.value,
      may_be_passed: mayBePassed.value === 'yes',
    }
    const entry = await ask('addToQueue', { body, idempotencyKey: `page-${Date.now()}-${Math.random()}` })
    if (entry) location.hash = '#/runs/queue'
  }
  return <Act label="Add to the queue" why={why ?? noTime(start_at)} onPress={add} />
}

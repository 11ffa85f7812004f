// The button that adds a new run to the queue, in place of its start now.

import { type Signal, useSignal } from '@preact/signals'
import { Act, Choice } from '../parts.tsx'
import { ask } from '../store.tsx'
import { requestOf, type Wish } from './new_run_again.tsx'

/** The members of a queue entry that the form has. `at` is a local time such as 2026-01-31T22:30; empty: when it is its turn. */
export type Queued = { at: Signal<string>; onFailure: Signal<string> }

const afterFailure = { stop: 'pause the queue (usual)', go_on: 'go on with the next run' }

export function useQueued(): Queued {
  return { at: useSignal(''), onFailure: useSignal('stop') }
}

export function QueueFields({ at, onFailure }: Queued) {
  return (
    <details class="changes">
      <summary>In the queue</summary>
      <div class="fields">
        <div class="field">
          <label for="queue-at">Not before</label>
          <input id="queue-at" type="datetime-local" value={at.value} onInput={(event) => (at.value = event.currentTarget.value)} />
          <small>Empty: as soon as it is its turn.</small>
        </div>
        <Choice label="If the run fails" of={onFailure} choices={afterFailure} />
      </div>
    </details>
  )
}

export function AddToQueue({ wish, why, queued: { at, onFailure } }: { wish: Wish; why: string | undefined; queued: Queued }) {
  const add = async () => {
    const start_at = at.value ? { start_at: new Date(at.value).getTime() / 1000 } : {}
    const body = { submission: requestOf(wish), on_failure: onFailure.value, ...start_at }
    const entry = await ask('addToQueue', { body, idempotencyKey: `page-${Date.now()}-${Math.random()}` })
    if (entry) location.hash = '#/runs/queue'
  }
  return <Act label="Add to the queue" why={why} onPress={add} />
}

// The start of an entry of the queue, as the form of a new run and the screen Queue ask for it.

import { type Signal, useSignal } from '@preact/signals'
import type { MoveInQueueRequest } from '../clients/ts/api.ts'
import { Choice, useAnswer } from './parts.tsx'
import { state } from './store.tsx'

type QueueStart = NonNullable<MoveInQueueRequest['start_at']> | null

/** `begins` is `turn`, `time`, or the id of the entry or the run that comes before; `at` a local time such as 2026-01-31T22:30. */
export type StartWish = { begins: Signal<string>; at: Signal<string> }

export function useStart(start: QueueStart = null): StartWish {
  const begins = start === null ? 'turn' : typeof start === 'number' ? 'time' : start.after
  return { begins: useSignal(begins), at: useSignal(typeof start === 'number' ? localTime(start) : '') }
}

/** Formats Unix seconds as the field of a time takes them: `2026-01-31T22:30`. */
function localTime(at_s: number): string {
  const date = new Date(at_s * 1000)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Returns the start for the API, and undefined while the time is not given. */
export function startOf({ begins, at }: StartWish): QueueStart | undefined {
  if (begins.value === 'turn') return null
  if (begins.value !== 'time') return { after: begins.value }
  const at_ms = new Date(at.value).getTime()
  return Number.isNaN(at_ms) ? undefined : at_ms / 1000
}

/** Returns why a start cannot be taken; undefined if it can. */
export function noTime(start: QueueStart | undefined): string | undefined {
  return start === undefined ? 'Say the time before which it does not begin.' : undefined
}

/** `own`: the entry that is changed, which cannot wait for itself. */
export function StartFields({ begins, at, own }: StartWish & { own?: string }) {
  const queue = useAnswer('getQueue')
  const waiting = queue.value?.entries.filter(({ entry_id, number }) => number !== null && entry_id !== own) ?? []
  const open = Object.values(state.value.run).filter(({ ended_at }) => ended_at === null)
  const id = `start-at-${own ?? 'new'}`
  const choices = {
    turn: 'as soon as it is its turn',
    time: 'not before a time',
    // The present start of the entry is offered also where its run has ended, or the page has not loaded it yet.
    ...(begins.value !== 'turn' && begins.value !== 'time' && { [begins.value]: 'as it is now' }),
    ...Object.fromEntries(open.map(({ execution_id, workflow_name }) => [execution_id, `after ${workflow_name}, which runs`])),
    ...Object.fromEntries(waiting.map(({ entry_id, number, workflow }) => [entry_id, `after number ${number}, ${workflow}`])),
  }
  return (
    <>
      <Choice label="Begins" of={begins} choices={choices} />
      {begins.value === 'time' && (
        <div class="field">
          <label for={id}>Not before</label>
          <input id={id} type="datetime-local" value={at.value} onInput={(event) => (at.value = event.currentTarget.value)} />
        </div>
      )}
    </>
  )
}

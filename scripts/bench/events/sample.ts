// An event as the engine fires them, about 522 bytes of JSON: a name made anew, ids that many events share.

import type { Context } from '../../../src/events/event.ts'

const execution_id = '3f6a1c52-0d1b-4c1e-9b0a-5d2f7c8e9a10'
const thread_id = 'c7a0d9e4-83b5-4f6f-8a57-1e9b2d3c4f55'
const method_ids = Array.from({ length: 1000 }, (_, n) => `9d2b6f10-4e7a-4b1c-a3d8-${String(n).padStart(12, '0')}`)

export type Sample = { event_name: string; execution_id: string; context: Context }

/** Another one for every `n`. */
export function sample(n: number): Sample {
  const method_id = method_ids[n % method_ids.length]!
  const context = {
    execution_id,
    workflow_name: 'seal-a',
    method_id,
    method_name: 'shake',
    thread_id,
    thread_name: 'plate-1',
    participating_thread_ids: [],
  }
  return { event_name: `METHOD.${method_id}.IN_PROGRESS`, execution_id, context }
}

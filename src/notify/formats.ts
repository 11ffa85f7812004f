// The request bodies of each kind of receiver.

import type { NotifyTarget } from '../config/notify.ts'
import type { Message } from './messages.ts'

/** A message to be delivered. `at` is Unix time in seconds; `times` counts the earlier messages about the same thing that were left out. */
type Letter = Message & { id: string; system_id: string; at: number; times: number }

type Format = (letter: Letter) => { type: string; body: string; headers?: Record<string, string> }

export const formats: Record<NotifyTarget['format'], Format> = {
  json: (letter) => ({ type: 'application/json', body: JSON.stringify(letter) }),
  slack: (letter) => ({ type: 'application/json', body: JSON.stringify({ text: sentence(letter) }) }),
  ntfy: (letter) => ({
    type: 'text/plain; charset=utf-8',
    body: sentence(letter),
    headers: { 'X-Title': `benchd ${letter.system_id}`, 'X-Priority': letter.kinds.includes('run_ended') ? '3' : '4' },
  }),
}

function sentence({ system_id, text, times }: Letter): string {
  return `${system_id}: ${text}${times ? ` (and ${times} more of it before)` : ''}`
}

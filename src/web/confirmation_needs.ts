// The confirmations that programs ask of people, such as assistants over MCP.

import type { State } from '../clients/ts/benchd.ts'
import type { Need } from './need.ts'
import { sentence } from './words.ts'

/** The code is at the end, where a person who has read the request finds it. */
export function confirmations({ confirmation }: State): Need[] {
  return Object.values(confirmation).map(({ confirmation_id, text, client, name, code, expires_at }) => ({
    id: `confirmation ${confirmation_id}`,
    title: code === null ? 'A program asks you' : `A program asks you: code ${code}`,
    text: `${sentence(text)} Asked by ${JSON.stringify(client ?? 'a program')}, as it calls itself, with the key ${name}. ${
      code === null
        ? 'The code is shown to other keys, and by benchd status on the bench.'
        : 'Tell it the code only if you want exactly this.'
    }`,
    since: expires_at - lasts_s,
    severe: true,
    decisions: [
      {
        label: 'Deny',
        consequence: 'The code holds no longer, and nothing is done.',
        request: { operation: 'denyConfirmation', asked: { path: { confirmation_id } } },
        danger: true,
      },
    ],
  }))
}

/** A confirmation waits this long. */
const lasts_s = 120

// The state of the page of the lab. Each part is fetched by itself, and fails by itself.

import { signal } from '@preact/signals'
import { whyNoKey } from './key_dialog.tsx'
import { onPage } from './words.ts'

export type Journey = {
  journey_id: string
  name: string
  labware: string
  status: 'queued' | 'open' | 'done' | 'ended'
  step: number
  leg: number
  legs: { bench: string; workflow: string }[]
  waiting: string | null
  needs_person: boolean
  decisions: string[]
  outcome: string | null
  since: number
  bars: { lane: string; what: string; from: number; to: number }[]
}
export type Task = { task_id: string; kind: 'place' | 'take' | 'bring' | 'take_away'; labware: string; what: string; since: number }
export type Holder = { bench: string; position: string } | { carrier: string } | { nobody: string }
type Custody = { labware: string; holder: Holder; at: number }
type Lab = {
  name: string
  journeys: string[]
  benches: {
    bench: string
    url: string | null
    status: string
    failure: string | null
    other_version: string | null
    heard_s: number | null
  }[]
}

/** The last answer, and the error of a newer request. */
type Part<Answer> = { answer: Answer | undefined; failure: string | null }

const look_ms = 2000
const keptAs = 'benchd.api_key'

const api_key = signal(keyOfAddress() ?? localStorage.getItem(keptAs) ?? '')
/** The sentence that says why a key is needed; null with a valid key. */
export const refused = signal<string | null>(api_key.value ? null : 'Paste a key of the coordinator.')
/** The outcome of the last request of the user. */
export const said = signal<{ text: string; isBad: boolean } | null>(null)

const empty = { answer: undefined, failure: null }
export const lab = signal<Part<Lab>>(empty)
export const journeys = signal<Part<{ journeys: Journey[] }>>(empty)
export const tasks = signal<Part<{ tasks: Task[] }>>(empty)
export const custody = signal<Part<{ custody: Custody[] }>>(empty)

const parts = [
  ['/api/lab', lab],
  ['/api/lab/journeys?limit=50', journeys],
  ['/api/lab/tasks', tasks],
  ['/api/lab/custody', custody],
] as const

/** Polls the coordinator. Returns the function that ends that. */
export function follow(): () => void {
  void look()
  const timer = setInterval(() => void look(), look_ms)
  return () => clearInterval(timer)
}

async function look(): Promise<void> {
  if (refused.value !== null) return
  await Promise.all(
    parts.map(async ([path, part]) => {
      try {
        part.value = { answer: (await ask('GET', path)) as never, failure: null }
      } catch (error) {
        part.value = { answer: part.value.answer as never, failure: wordsOf(error) }
      }
    }),
  )
}

/** Sends a request, shows its outcome, and polls at once. Resolves with whether it succeeded. */
export async function tell(path: string, body: object, words: (answer: { message?: string }) => string): Promise<boolean> {
  try {
    said.value = { text: words((await ask('POST', path, body)) as { message?: string }), isBad: false }
    return true
  } catch (error) {
    said.value = { text: wordsOf(error), isBad: true }
    return false
  } finally {
    await look()
  }
}

/** Tries the key and stores a valid one. Resolves with the mistake, or an empty text. */
export async function useKey(key: string): Promise<string> {
  const noKey = whyNoKey(key)
  if (noKey) return noKey
  const before = api_key.value
  api_key.value = key
  try {
    await ask('GET', '/api/lab')
  } catch (error) {
    api_key.value = before
    return wordsOf(error)
  }
  refused.value = null
  localStorage.setItem(keptAs, key)
  void look()
  return ''
}

async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const headers = { 'X-API-Key': api_key.value, ...(body && { 'Content-Type': 'application/json' }) }
  const reply = await fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) }).catch(() => {
    throw new Error('The coordinator does not answer.')
  })
  const answer = (await reply.json().catch(() => ({}))) as { detail?: string }
  // While the form is open, it shows the mistake of a key itself.
  if (reply.status === 401) {
    refused.value ??= 'The key is not valid any more.'
    throw new Error('This key is wrong, expired or revoked; try another.')
  }
  if (!reply.ok) throw new Error(answer.detail === undefined ? `The coordinator answered ${reply.status}.` : onPage(answer.detail))
  return answer
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Takes the key of `#k=…` out of the address. */
function keyOfAddress(): string | undefined {
  const [, key] = /^#k=(bk_[\w-]+)$/.exec(location.hash) ?? []
  if (key === undefined) return undefined
  history.replaceState(null, '', location.pathname)
  localStorage.setItem(keptAs, key)
  return key
}

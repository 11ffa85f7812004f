// The state of the page: the live state, the link to the service, the key, and whether buttons are enabled.

import { computed, effect, signal } from '@preact/signals'
import {
  Bench,
  BenchError,
  type DeviceInfo,
  emptyState,
  type Live,
  type Operations,
  type State,
  ifState as stateHeader,
} from '../clients/ts/benchd.ts'
import { Tabs } from './browser_tabs.tsx'
import { whyNoKey } from './key_dialog.tsx'
import type { Request } from './need.ts'
import { needsOf, solvedOf } from './needs.ts'
import { operator } from './operator.tsx'
import { RepeatedStop, type Stop, type StopAnswer } from './repeated_stop.ts'
import { ring } from './sound.tsx'
import { refusedStop, takenStop } from './stop_words.ts'
import { type Storage, storagesOf } from './storage.ts'
import { reminders } from './tasks.ts'
import { sentence } from './words.ts'

const keyPlace = 'benchd.api_key'
/** The storage key of the time of an unconfirmed stop, which survives a reload of the tab. */
const stopPlace = 'benchd.stop'

export const state = signal<State>(emptyState)
export const link = signal<'connecting' | 'live' | 'lost'>('connecting')
/** The time of the loss of the link, in `ticks`. */
export const lostAt = signal(0)
export const bench = signal<Bench | undefined>(undefined)
export const scope = signal<'read' | 'operate' | 'admin'>('read')
/** The sentence that says why a key is needed; undefined with a valid one. */
export const keyWanted = signal<string | undefined>(undefined)
/** The key for stops: that of this browser, also if the service refused it. Empty without a key. */
export const stopKey = signal(localStorage.getItem(keyPlace) ?? '')
/** The service's time in ms; changes every second. */
export const now = signal(Date.now())
/** Monotonic ms, every second, for spans of time. */
export const ticks = signal(performance.now())
/** The stop from this page, until somebody continues after it or withdraws it. */
export const stopped = signal<Stop | undefined>(undefined)
/** The outcome of the last press. */
export const notice = signal<{ text: string; bad: boolean } | undefined>(undefined)
export const route = signal(routeOf(location.hash))
/** The seconds of a simulated instrument in one real second. */
export const timeScale = signal(1)
export const needs = computed(() => needsOf(state.value))
export const solved = computed(() => solvedOf(state.value))
/** The loaded topology. */
export const topology = computed(() => Object.values(state.value.topology)[0])
const storages = computed(() => (topology.value ? storagesOf(topology.value) : []))
/** Keyed by `operation_id`: the end of the running operation in `ticks`, from the seconds left when it was first seen. */
export const ends = signal<Record<string, number>>({})

/** The service's time and the monotonic time here at one moment, since a tablet may have any date. */
let anchor = { service_ms: Date.now(), here_ms: performance.now() }

function present(): number {
  return anchor.service_ms + performance.now() - anchor.here_ms
}

setInterval(() => {
  now.value = present()
  ticks.value = performance.now()
}, 1000)
addEventListener('hashchange', () => {
  const before = runOf(route.value)
  route.value = routeOf(location.hash)
  // A success belongs to the last screen; a refusal stays until it was read.
  if (!notice.value?.bad) notice.value = undefined
  scrollTo(0, 0)
  if (runOf(route.value) !== before) follow()
})

/** Splits the address after `#/`. */
function routeOf(hash: string): string[] {
  return hash.replace(/^#\/?/, '').split('/').map(decoded)
}

/** Decodes a part of the address, but keeps a bad escape: an error here would leave the page without STOP ALL. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function runOf([screen, id]: string[]): string | undefined {
  return screen === 'runs' && id && id !== 'new' ? id : undefined
}

let live: Live | undefined
const tabs = new Tabs(() => live && follow())
/** The polling interval of a tab without a stream. */
const poll_ms = 2000

/** Restarts the live stream, with the timeline of the shown run. */
function follow(): void {
  live?.close()
  const run = runOf(route.value)
  live = bench.value?.live({
    run,
    poll_ms: tabs.polls ? poll_ms : undefined,
    onState: take,
    onLink(now, error) {
      if (now === 'lost' && link.value !== 'lost') lostAt.value = performance.now()
      link.value = now
      if (error instanceof BenchError && error.status === 401) askForKey('The key is wrong, expired or revoked; enter another.')
    },
  })
}

effect(() => {
  if (bench.value) bench.value.operator = operator.value || undefined
})

/** The previous needs and reminders, so that each new one sounds once. */
let known: ReadonlySet<string> | undefined

effect(() => {
  if (!state.value.ready) return
  const ids = new Set([...needs.value.map(({ id }) => id), ...reminders(state.value)])
  if (known && [...ids].some((id) => !known!.has(id))) ring()
  known = ids
})

function take(next: State): void {
  // A new stream has no time before its first beat.
  if (next.time > 0 && next.time !== state.value.time) anchor = { service_ms: next.time * 1000, here_ms: performance.now() }
  const before = state.value.device
  if (next.device !== before) {
    const found: Record<string, number> = {}
    for (const { device_id, operation, simulated } of Object.values(next.device)) {
      if (!operation) continue
      const isSame = before[device_id]?.operation?.operation_id === operation.operation_id
      const real_s = operation.seconds_left / (simulated ? timeScale.value : 1)
      found[operation.operation_id] = (isSame && ends.value[operation.operation_id]) || performance.now() + real_s * 1000
    }
    ends.value = found
  }
  state.value = next
}

// A hidden tab needs no stream; a browser has only six connections to the service.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    live?.close()
    live = undefined
  } else if (!live && bench.value) follow()
})

/** Uses the key of the address (`#k=…`) or the stored one, or asks for one. */
export async function start(): Promise<void> {
  const [, given] = /^#k=(.+)$/.exec(location.hash) ?? []
  if (given) {
    history.replaceState(null, '', location.pathname)
    route.value = ['']
  }
  const key = given ?? stopKey.value
  const noKey = key === '' ? '' : whyNoKey(key)
  if (noKey === undefined) await connect(key)
  else askForKey(noKey)
}

/** Tries a key and stores a valid one. Resolves with the mistake. */
export async function connect(key: string): Promise<string> {
  const noKey = whyNoKey(key)
  if (noKey) return noKey
  const tried = new Bench({ url: '', key, operator: operator.value ?? undefined })
  const before = stopKey.value
  // Without another key, stops use this one at once.
  stopKey.value ||= key
  try {
    scope.value = (await tried.call('whoAmI')).scope as 'read'
  } catch (error) {
    const isRefused = error instanceof BenchError && (error.status === 401 || error.status === 429)
    if (isRefused) stopKey.value = before
    const why = isRefused ? 'This key is wrong, expired or revoked; try another.' : 'The service does not answer; try again.'
    // The form keeps the typed key.
    if (keyWanted.value !== undefined) return why
    if (isRefused) {
      askForKey(why)
      return why
    }
    // The service may be starting, so the stream keeps trying.
  }
  localStorage.setItem(keyPlace, key)
  stopKey.value = key
  keyWanted.value = undefined
  bench.value = tried
  tried.call('getSystem').then(
    ({ time_scale }) => {
      timeScale.value = time_scale
    },
    () => undefined,
  )
  follow()
  return ''
}

function askForKey(why: string): void {
  live?.close()
  live = undefined
  keyWanted.value = why
}

export function forgetKey(): void {
  localStorage.removeItem(keyPlace)
  stopKey.value = ''
  bench.value = undefined
  state.value = emptyState
  askForKey('')
}

// Another tab of this browser has forgotten the key.
addEventListener('storage', ({ key, newValue }) => {
  if (key === keyPlace && newValue === null) forgetKey()
})

/** Sends a request and shows its outcome on the page, of a `quiet` one only a failure. Resolves with the answer, or with undefined after a refusal. */
export async function ask<Op extends keyof Operations>(
  operation: Op,
  asked: object = {},
  { quiet = false } = {},
): Promise<Operations[Op]['answer'] | undefined> {
  try {
    const answer = await bench.value!.call(operation, asked as never)
    const { message, success } = (answer ?? {}) as { message?: string; success?: boolean }
    if (message && (!quiet || success === false)) notice.value = { text: sentence(message), bad: success === false }
    return answer
  } catch (error) {
    notice.value = { text: whyRefused(error), bad: true }
    return undefined
  }
}

/** Sends a request whose button shows a refusal itself. Resolves with the sentence of the refusal; undefined after a success. */
export async function refusalOf({ operation, asked }: Request): Promise<string | undefined> {
  try {
    await bench.value!.call(operation, asked as never)
    return undefined
  } catch (error) {
    return whyRefused(error)
  }
}

/** Returns the sentence of a failed request, and asks for a key where that was the reason. */
function whyRefused(error: unknown): string {
  if (error instanceof BenchError && error.status === 401) askForKey('The key is wrong, expired or revoked; enter another.')
  return sentence(error instanceof BenchError ? error.message : 'The service did not answer. It may have carried out the request or not.')
}

export function send({ operation, asked }: Request): Promise<unknown> {
  return ask(operation, asked)
}

/** Fetches a file, and downloads it in the browser. */
export async function download<Op extends keyof Operations>(operation: Op, asked: object = {}, name?: string): Promise<void> {
  try {
    const file = await bench.value!.download(operation, asked as never)
    keepFile(name ?? file.name, file.content)
  } catch (error) {
    notice.value = { text: sentence(error instanceof BenchError ? error.message : 'The service did not answer.'), bad: true }
  }
}

/** Downloads a file in the browser. */
export function keepFile(name: string, content: Blob): void {
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(content), download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** Sends a stop before it returns. Rejects without an answer. */
async function sendStop(signal: AbortSignal): Promise<StopAnswer> {
  try {
    return takenStop(await new Bench({ url: '', key: stopKey.value, operator: operator.value ?? undefined }).call('stopAll', { signal }))
  } catch (error) {
    const answer = refusedStop(error)
    if (answer) return answer
    throw error
  }
}

const repeatedStop = new RepeatedStop({
  clock: {
    now: () => performance.now(),
    wall: () => Date.now(),
    after(ms, call) {
      const timer = setTimeout(call, ms)
      return () => clearTimeout(timer)
    },
  },
  send: sendStop,
  onChange(stop) {
    stopped.value = stop
    if (stop && stop.phase !== 'answered') sessionStorage.setItem(stopPlace, String(stop.at))
    else sessionStorage.removeItem(stopPlace)
  },
})
const unconfirmedAt = Number(sessionStorage.getItem(stopPlace))
if (unconfirmedAt > 0) repeatedStop.ask(unconfirmedAt)

/** Stops all devices: sends the request before it returns, or after one that is on its way. */
export function stopAll(): void {
  repeatedStop.touch(present())
}

/** Enables the buttons again after an answered stop, unless STOP ALL was touched since `shown` was displayed. */
export function continueAfterStop(shown: Stop): void {
  repeatedStop.end(shown)
}

/** Ends the repetition of an unconfirmed stop. */
export function withdrawStop(): void {
  repeatedStop.end()
  notice.value = { text: 'The stop was withdrawn without an answer from the service. Devices may still move: look at each.', bad: true }
}

/** Says why buttons that change something are disabled; undefined if they are enabled. */
export const refusal = computed(() => {
  if (link.value !== 'live') return 'The page has no connection to the service, and shows an old state.'
  if (scope.value === 'read') return 'This key can only read. Use a key of scope operate.'
  if (stopped.value)
    return stopped.value.phase === 'answered'
      ? 'STOP ALL was pressed here. Hold "Hold to continue" first.'
      : 'STOP ALL was pressed here and is not confirmed. Wait for the answer, or press "Withdraw".'
  return undefined
})

export const mayAdminister = computed(() => scope.value === 'admin')

/** The silence of an instrument after which its state counts as outdated: three checks of the service. */
const silent_s = 6

/** Whether the shown state of a device is outdated. A device is asked every two seconds, except while it works or has a fault. */
export function isSilent({ state: its, heard_at }: DeviceInfo): boolean {
  if (heard_at === null || (its !== 'ready' && its !== 'not_initialized')) return false
  return state.value.time - heard_at > silent_s
}

/** Makes the header If-State, with which the service refuses a press that was meant for another state, or came before the last stop. */
export function ifState(shown: string | DeviceInfo): { headers: Record<string, string> } {
  return { headers: typeof shown === 'string' ? { 'If-State': shown } : stateHeader(shown) }
}

/** Whether nothing real moves by itself: every device is simulated, or a person who carries labware. */
export const movesNothingReal = computed(() => {
  const all = Object.values(state.value.device)
  return all.some(({ simulated }) => simulated) && all.every(({ simulated, driver }) => simulated || driver === 'person')
})

/** Whether all devices of the bench are simulated. */
export const isAllSimulated = computed(() => {
  const all = Object.values(state.value.device)
  return all.length > 0 && all.every(({ simulated }) => simulated)
})

/** Returns a storage on the loaded topology; undefined for a device without slots on it. */
export function storageOf(device_id: string): Storage | undefined {
  return storages.value.find((one) => one.device_id === device_id)
}

// The state of the page: the live state, the link to the service, the key, and whether buttons that move something may be pressed.

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
import { needsOf, type Request } from './needs.ts'
import { RepeatedStop, type Stop, type StopAnswer } from './repeated_stop.ts'
import { ring } from './sound.tsx'
import { refusedStop, takenStop } from './stop_words.ts'
import { sentence } from './words.ts'

const keyPlace = 'benchd.api_key'
/** The place where the time of a stop that is not confirmed outlasts a reload of the tab. */
const stopPlace = 'benchd.stop'

export const state = signal<State>(emptyState)
export const link = signal<'connecting' | 'live' | 'lost'>('connecting')
/** When the link was lost, in `ticks`. */
export const lostAt = signal(0)
export const bench = signal<Bench | undefined>(undefined)
export const scope = signal<'read' | 'operate' | 'admin'>('read')
/** The reason why a key is asked for; undefined while there is a good one. */
export const keyWanted = signal<string | undefined>(undefined)
/** The key that stops are sent with: that of this browser, also one that the service refused. Empty without a key. */
export const stopKey = signal(localStorage.getItem(keyPlace) ?? '')
/** The time by the clock of the service, ms; changes every second. */
export const now = signal(Date.now())
/** ms of a clock that nobody sets, every second: for spans of time. */
export const ticks = signal(performance.now())
/** The stop from this page, until somebody continues after it or withdraws it. */
export const stopped = signal<Stop | undefined>(undefined)
/** The last thing that was said about a press. */
export const notice = signal<{ text: string; bad: boolean } | undefined>(undefined)
export const route = signal(routeOf(location.hash))
/** The seconds of a simulated instrument that go by in one of ours. */
export const timeScale = signal(1)
export const needs = computed(() => needsOf(state.value))
/** When each running operation was first seen with that many seconds left: `operation_id` → its end, in `ticks`. */
export const ends = signal<Record<string, number>>({})

/** The service's time at one moment, and the reading here of the clock that nobody sets: a tablet may have any date. */
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
  // What was done is of the screen that was left; what was refused stays until somebody has read it.
  if (!notice.value?.bad) notice.value = undefined
  scrollTo(0, 0)
  if (runOf(route.value) !== before) follow()
})

/** The parts of the address behind `#/`. */
function routeOf(hash: string): string[] {
  return hash.replace(/^#\/?/, '').split('/').map(decoded)
}

/** A bad escape stays as it is: without an address the page would not start, and would have no stop. */
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
/** Between two looks at the state in a tab that has no stream. */
const poll_ms = 2000

/** Follows the state anew, with the timeline of the run that is shown. */
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

/** The needs that were there before, so that each one is heard once. */
let known: ReadonlySet<string> | undefined

effect(() => {
  if (!state.value.ready) return
  const ids = new Set(needs.value.map(({ id }) => id))
  if (known && [...ids].some((id) => !known!.has(id))) ring()
  known = ids
})

function take(next: State): void {
  // A stream that has just begun knows no time before its first beat.
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

/** Takes a key of the address (`#k=…`) or the stored one, or asks for one. */
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

/** Tries a key and keeps it if it is good; returns what is wrong with it. */
export async function connect(key: string): Promise<string> {
  const noKey = whyNoKey(key)
  if (noKey) return noKey
  const tried = new Bench({ url: '', key })
  const before = stopKey.value
  // A browser without another key stops with this one already.
  stopKey.value ||= key
  try {
    scope.value = (await tried.call('whoAmI')).scope as 'read'
  } catch (error) {
    const isRefused = error instanceof BenchError && (error.status === 401 || error.status === 429)
    if (isRefused) stopKey.value = before
    const why = isRefused ? 'This key is wrong, expired or revoked; try another.' : 'The service does not answer; try again.'
    // The form that asked keeps the key that was typed.
    if (keyWanted.value !== undefined) return why
    if (isRefused) {
      askForKey(why)
      return why
    }
    // The service may be starting: the stream tries again and again.
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

/** Asks the service; what it answers is said on the page. Resolves with the answer, or with undefined when it said no. */
export async function ask<Op extends keyof Operations>(
  operation: Op,
  asked: object = {},
  { quiet = false } = {},
): Promise<Operations[Op]['answer'] | undefined> {
  try {
    const answer = await bench.value!.call(operation, asked as never)
    const { message, success } = (answer ?? {}) as { message?: string; success?: boolean }
    if (!quiet && message) notice.value = { text: sentence(message), bad: success === false }
    return answer
  } catch (error) {
    if (error instanceof BenchError && error.status === 401) askForKey('The key is wrong, expired or revoked; enter another.')
    notice.value = {
      text: sentence(error instanceof BenchError ? error.message : 'The service did not answer; nobody knows whether it was done.'),
      bad: true,
    }
    return undefined
  }
}

export function send({ operation, asked }: Request): Promise<unknown> {
  return ask(operation, asked)
}

/** Asks for a file, and gives it to the browser to keep. */
export async function download<Op extends keyof Operations>(operation: Op, asked: object = {}, name?: string): Promise<void> {
  try {
    const file = await bench.value!.download(operation, asked as never)
    keepFile(name ?? file.name, file.content)
  } catch (error) {
    notice.value = { text: sentence(error instanceof BenchError ? error.message : 'The service did not answer.'), bad: true }
  }
}

/** Gives a file to the browser to keep. */
export function keepFile(name: string, content: Blob): void {
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(content), download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** Sends a stop before it returns; rejects when there is no answer. */
async function sendStop(signal: AbortSignal): Promise<StopAnswer> {
  try {
    return takenStop(await new Bench({ url: '', key: stopKey.value }).call('stopAll', { signal }))
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

/** The request leaves before this returns, unless another is on its way: then it follows that one. */
export function stopAll(): void {
  repeatedStop.touch(present())
}

/** Gives the page its buttons back after a stop that was answered, unless STOP ALL was touched since the page showed that answer. */
export function continueAfterStop(shown: Stop): void {
  repeatedStop.end(shown)
}

/** Sends a stop that was not confirmed no more. */
export function withdrawStop(): void {
  repeatedStop.end()
  notice.value = { text: 'The stop was withdrawn without an answer of the service. Devices may still move: look at each.', bad: true }
}

/** The reason why buttons that change something cannot be pressed; undefined when they can. */
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

/** How long an instrument may be silent while the page takes its state for true: three looks of the service. */
const silent_s = 6

/** Whether what is shown of a device is old: it is asked every two seconds, but not while it works or has a fault. */
export function isSilent({ state: its, heard_at }: DeviceInfo): boolean {
  if (heard_at === null || (its !== 'ready' && its !== 'not_initialized')) return false
  return state.value.time - heard_at > silent_s
}

/** The header by which the service refuses what was pressed for another state than the present one, or before the last stop of a device. */
export function ifState(shown: string | DeviceInfo): { headers: Record<string, string> } {
  return { headers: typeof shown === 'string' ? { 'If-State': shown } : stateHeader(shown) }
}

/** Whether nothing on this bench is real. */
export const isAllSimulated = computed(() => {
  const all = Object.values(state.value.device)
  return all.length > 0 && all.every(({ simulated }) => simulated)
})

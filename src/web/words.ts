// Texts of the page: states, times, durations.

import type { DeviceInfo, Reading, Thread } from '../clients/ts/benchd.ts'
import { titled } from './forms.ts'

export const deviceWords: Record<DeviceInfo['state'], { word: string; mark: string; tone: string }> = {
  ready: { word: 'ready', mark: '●', tone: 'good' },
  busy: { word: 'busy', mark: '▶', tone: 'busy' },
  not_initialized: { word: 'not initialized', mark: '○', tone: 'calm' },
  stopped: { word: 'stopped', mark: '■', tone: 'bad' },
  faulted: { word: 'fault', mark: '▲', tone: 'bad' },
  disconnected: { word: 'disconnected', mark: '✕', tone: 'bad' },
  external: { word: 'driven elsewhere', mark: '◇', tone: 'calm' },
}

const threadWords: Partial<Record<Thread['status'], string>> = {
  CREATED: 'has not begun',
  MOVING: 'is moved',
  AWAITING_MANUAL_PLACE: 'waits until it is placed',
  AWAITING_MANUAL_REMOVE: 'waits until it is removed',
  RESOLVING_ACTION_LOCATION: 'looks for its device',
  AWAITING_ACTION_RESERVATION: 'waits for its device',
  ACTION_LOCATION_RESOLVED: 'has its device',
  AWAITING_MOVE_RESERVATION: 'waits for its route',
  AWAITING_MOVE_TARGET_AVAILABILITY: 'waits for its place',
  AWAITING_CO_THREADS: 'waits for other labware',
  EXECUTING_ACTION: 'is worked on',
  AWAITING_EVENT: 'waits for an event',
}

/** The buttons of the decisions about an error. */
export const decisionLabels: Record<Thread['decisions'][number], string> = {
  RETRY: 'Retry',
  RETRY_OP: 'Retry operation',
  CONTINUE: 'Continue',
  ABORT_ACTION: 'Abort action',
  ABORT_METHOD: 'Abort method',
  ABORT_THREAD: 'Abort thread',
}

export function threadWord(status: string): string {
  return threadWords[status as Thread['status']] ?? status.toLowerCase().replaceAll('_', ' ')
}

/** Replacements of routes in sentences of the API by buttons and screens. */
const buttons: readonly (readonly [RegExp, string])[] = [
  [/; possible decisions: [A-Z_, ]+(?=; |$)/, ''],
  [/\brecover the thread (that it holds )?with (?=RETRY)/, 'press '],
  [/\brecover the thread\b( with one of the decisions)?/, 'choose one of the buttons in “Needs you”'],
  [/\bthe execution is paused \(system\)/, 'the service has paused the run'],
  [/\bthe execution is paused \(manual\)/, 'somebody has paused the run'],
  [/\bresume the thread or the execution\b/, 'resume the thread or the run'],
  [/\bRETRY with "on"/, '“Retry on …”'],
  [/\bRETRY with "by" and "arm_is_off"/, '“The arm is off: let … carry it”'],
  ...Object.entries(decisionLabels).map(([word, label]) => [new RegExp(`\\b${word}\\b`, 'g'), `“${label}”`] as const),
  [/(: DELETE|; GET) \/api\/\S+\/presets\S*( lists them)?/, ''],
  [/ ?\((un)?lock_plate\)/g, ''],
  [/\bunlock_plate\b/g, '“Unlock plate”'],
  [/\block_plate\b/g, '“Lock plate”'],
  [/POST \/api\/devices\/([^/\s]+)\/initialize/g, 'press “Initialize” of $1'],
  [/: POST \/api\/devices\/([^/\s]+)\/accept\b(, or benchd devices accept [^\s,]+)?/g, ' (“Accept” of $1)'],
  [/answer the task \(POST \/api\/operator\/steps\/[^/\s]+\/confirm\)/g, 'answer the task in “Needs you”'],
  [/; its caller ended it$/, ''],
  [/\bthen say that it is placed/, 'then press “Placed”'],
  [/\bthen say that it is removed/, 'then press “Removed”'],
  [/\bthen confirm the step/, 'then press “Done”'],
  [/decide CONTINUE, with "barcode" if it has another barcode/g, 'press “It is …”, or scan its other barcode into “Correct the barcode”'],
  [/decide RETRY, which scans again/g, 'press “Scan again”'],
  [/and give it as "barcode"/g, 'and scan or type it'],
  [/POST \/api\/devices\/([^/\s]+)\/stop/g, 'press “Stop” of $1'],
  [/POST \/api\/executions\/\S+\/skip, or complete its incident/g, '“Skip” on the screen of the run, or “Mark as done” of its incident'],
  [/ ?\((GET|POST) \/api\/operator\/steps[^)]*\)/g, ' under “Needs you”'],
  [/POST \/api\/incidents\/[^/\s]+\/acknowledge/g, 'press “Acknowledge”'],
  [/POST \/api\/incidents\/[^/\s]+\/extend( \{"seconds": …\})?/g, 'press “More time”'],
  [/(POST )?\/api\/incidents\/[^/\s]+\/abort\b/g, '“Abort call”'],
  [/(POST )?\/api\/incidents\/[^/\s]+\/complete\b/g, '“Mark as done”'],
  [/(transfer of .+) \(PUT \/api\/labware\/[^/\s]+\/location\)/, '$1 (on the screen of that storage)'],
  [/PUT \/api\/devices\/([^/\s]+)\/inventory/g, '“Correct a slot” of $1'],
  [/: PUT \/api\/labware\/[^/\s]+\/location( \{"position": null\})?/g, ' on the screen Deck'],
  [/\bPUT \/api\/labware\/[^/\s]+\/location( \{"position": null\})?/g, 'on the screen Deck'],
  // Incidents of earlier versions name the command.
  [/: benchd labware put \S+ (?:PLACE|--off)/g, ' on the screen Deck'],
  [/\bbenchd labware put \S+ (?:PLACE|--off)/g, 'on the screen Deck'],
  [/(an admin end the lease): DELETE \/api\/devices\/[^/\s]+\/lock with X-Override: true/g, '$1'],
  [/pass with a key of scope admin and X-Override: true/g, 'ask an admin'],
  [/say what was read as "barcode"/, 'type what was read'],
  [/teach them: POST \/api\/teachpoints\/bulk\b/g, 'teach them on the screen Teach'],
  [/(?:then |first )?POST \/api\/system\/reload/g, 'press “Reload” on the screen System'],
  [/GET \/api\/system\/doctor\b/g, '“Run the doctor” on the screen System'],
  [/repeat the request with a key of scope admin to see the mistake/, 'enter a key of scope admin to see the mistake'],
  [/; \/api\/lab\/(journeys|tasks) shows [\w ]+/g, ''],
  [/(GET )?\/api\/devices\b(?!\/)/g, 'the screen Bench'],
  [/(GET )?\/api\/executions\b(?!\/)/g, 'the screen Runs'],
  [/(GET )?\/api\/(labware|topology|topologies)\b(?!\/)/g, 'the screen Deck'],
  [/(GET )?\/api\/incidents\b(?!\/)/g, '“Needs you”'],
  [/(GET )?\/api\/workflows\b(?!\/)/g, 'the screen New run'],
  [/^the body(: |\.)/, ''],
  // Ids are shortened to eight characters.
  [/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '$1'],
]

/** Rewords a sentence of the API for the page. */
export function onPage(text: string): string {
  return buttons.reduce((words, [api, button]) => words.replace(api, button), text)
}

/** Returns the text with a capital letter and a full stop. */
export function sentence(text: string): string {
  const words = onPage(text)
  // An id or a step's path at the beginning keeps its case.
  const first = /^[a-z]+(?![\w/-])/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words
  return first + (/[.!?]$/.test(words) ? '' : '.')
}

/** Formats readings as `37.0 °C, target 37 °C · pressure 900 mbar`. */
export function readingWords({ temperature, target, others = {} }: Reading): string {
  const value = (number: number, unit: string) => (unit ? `${number} ${unit}` : String(number))
  const aim = (target: number | null, unit: string) => (target === null ? '' : `, target ${value(target, unit)}`)
  return [
    ...(temperature === null ? [] : [`${temperature.toFixed(1)} °C${aim(target, '°C')}`]),
    ...Object.entries(others).map(
      ([name, its]) => `${name.replaceAll('_', ' ').replace('co2', 'CO2')} ${value(its.value, its.unit)}${aim(its.target, its.unit)}`,
    ),
  ].join(' · ')
}

/** Returns a sentence with the temperature to which a device heats. */
export function heatingWords({ target, is_lowest }: NonNullable<DeviceInfo['heating']>): string {
  const words = target === null ? 'Heating.' : `Heating to ${target} °C.`
  return is_lowest ? `${words} That is its lowest set point: its heater cannot be switched off.` : words
}

/** Returns what a heating device does now: `heating, 118 of 165 °C`; undefined at its target, and for a device that does not heat. */
export function heatingPhase({ heating }: Pick<DeviceInfo, 'heating'>, reading: Reading | undefined): string | undefined {
  const [target, temperature] = [heating?.target, reading?.temperature]
  if (typeof target !== 'number' || typeof temperature !== 'number' || temperature > target - near_c) return undefined
  return `heating, ${Math.round(temperature)} of ${target} °C`
}

/** A temperature this close to its target counts as reached, in °C. */
const near_c = 2

type Outcome = { text: string; isBad: boolean; at: number }

/** Returns the outcome of the last operation as a whole sentence, with its end in Unix time, s; undefined before the first. */
export function outcomeOf({ device_id, last_operation: last }: Pick<DeviceInfo, 'device_id' | 'last_operation'>): Outcome | undefined {
  const said = last?.detail ?? last?.result?.message
  if (!last || !said) return undefined
  const isBad = last.detail !== null || last.result?.success === false
  const words = onPage(said.replace(`${device_id}: `, '').replace(`${device_id} `, ''))
  const isRefused = last.reason === 'interlock' || last.reason === 'invalid'
  const text = isBad ? `${titled(last.operation)} ${isRefused ? 'was refused' : 'failed'}: ${words}` : words
  return { text: sentence(text), isBad, at: last.ended ?? last.started }
}

/** Returns the state of the door and of the plate lock, as far as it is known: `plate locked`, `door open`. */
export function partWords({ type, parts }: Pick<DeviceInfo, 'type' | 'parts'>): string[] {
  const { plate_lock, door } = parts
  return [...(plate_lock ? [`plate ${plate_lock}`] : []), ...(door ? [type === 'centrifuge' ? `door ${door}` : door] : [])]
}

/** Formats seconds as `3:05` or `1:02:03`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

/** Formats Unix seconds as `14:03`, with the day if it is not today. */
export function clockMinutes(seconds: number, now = Date.now() / 1000): string {
  return clockTime(seconds, now).slice(0, -':07'.length)
}

/** Formats Unix seconds as `14:03:07`, with the day if it is not today. */
export function clockTime(seconds: number, now = Date.now() / 1000): string {
  const [date, today] = [new Date(seconds * 1000), new Date(now * 1000)]
  const time = date.toTimeString().slice(0, 8)
  return date.toDateString() === today.toDateString() ? time : `${localDay(date)} ${time}`
}

/** Formats Unix seconds with the day, the offset and the name of the browser's time zone: `2026-01-31 14:03:07 +01:00, Europe/Berlin`. */
export function zonedTime(seconds: number): string {
  const date = new Date(seconds * 1000)
  const east_min = -date.getTimezoneOffset()
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const offset = `${east_min < 0 ? '-' : '+'}${two(Math.abs(east_min) / 60)}:${two(Math.abs(east_min) % 60)}`
  return `${localDay(date)} ${date.toTimeString().slice(0, 8)} ${offset}, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`
}

/** Words an author as `tablet, said to be Ann`. Nobody has checked the name of an operator. */
export function authorText(by: string | null | undefined, operator: string | undefined): string {
  return [by ?? 'nobody', operator ? `said to be ${operator}` : ''].filter(Boolean).join(', ')
}

/** The limit of the service for the name of a person, in characters. */
export const longestName = 64

/** Returns a name as the service takes it: without control characters and marks of direction, and not too long. */
export function plainName(typed: string): string {
  return [...typed.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()].slice(0, longestName).join('').trim()
}

/** Formats the day in the browser's time zone as `2026-01-31`. */
function localDay(date: Date): string {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
}

/** Formats the caller and the time of a stop as ` by ann, 14:03:07`. */
export function stopText({ by, at }: { by: string | null; at: number }, now: number): string {
  return `${by === null ? '' : ` by ${by}`}, ${clockTime(at, now)}`
}

/** Returns ` shaker-1 is still heating to 60 °C.` for each device that a run left on; empty without any. */
export function stillHeating({ still_heating }: { still_heating?: unknown }): string {
  const devices = (still_heating ?? []) as { device_id: string; target: number | null }[]
  return devices.map(({ device_id, target }) => ` ${device_id} is still heating${target === null ? '' : ` to ${target} °C`}.`).join('')
}

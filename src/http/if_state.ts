// The header If-State: a request is refused if the state that the client was shown is no longer the present one.

import { LabError } from '../errors.ts'
import type { Audit } from '../keys/audit.ts'

/** The newest lines of the audit trail in which the last change is searched. */
const lookedThrough = 200

type Condition = { shown: string; present: string | undefined; path: string }

/** Throws `conflict` that names the present state, and who changed it last. An object that does not exist is refused by the route. */
export async function mustBeAsShown({ audit }: { audit: Pick<Audit, 'newest'> }, { shown, present, path }: Condition): Promise<void> {
  if (present === undefined || isAsShown(shown, present)) return
  const [, kind = '', id = ''] = /^\/api\/(\w+)\/([^/]+)/.exec(path) ?? []
  const { entries } = await audit.newest(lookedThrough, 'done')
  const isDevice = kind === 'devices'
  const isStop = stateIn(present) === stateIn(shown)
  const isAbout = (what: string) =>
    isDevice && isStop ? stopsOf(id).includes(what) : what.includes(`/api/${kind}/${id}/`) || (isDevice && stopsOfAll.includes(what))
  const last = entries.findLast(({ what }) => isAbout(what))
  const by = last ? `; ${callOf(last)} at ${utc(last.at)}` : ''
  const name = isDevice ? id : `${kind.slice(0, -1)} ${id.slice(0, 8)}`
  const change = isStop
    ? `was stopped${shown.includes(' ') ? ' again' : ''}`
    : `is ${worded(present)} by now, and was shown as ${worded(shown)}`
  throw new LabError('conflict', `${name} ${change}${by}; look again, then decide`)
}

/** The entry of the audit trail for the contact that stops every device. */
const stopInput = 'stop input'
const stopsOfAll = ['POST /api/stop', stopInput]

function stopsOf(device_id: string): string[] {
  return [`POST /api/devices/${device_id}/stop`, ...stopsOfAll]
}

function callOf({ name, what }: { name: string | null; what: string }): string {
  return what === stopInput ? 'the stop input stopped it' : `${name ?? 'somebody'} asked it to ${what.split('/').at(-1)}`
}

/**
 * Compares the states. `stopped 1764138000.5` differs from a stop at another time. Without a time `stopped` means any stop, as earlier clients send it; any other
 * state was shown before the stop.
 */
function isAsShown(shown: string, present: string): boolean {
  const [, shownAt] = shown.split(' ')
  const [, stoppedAt] = present.split(' ')
  if (stateIn(shown) !== stateIn(present)) return false
  return shownAt === undefined ? stoppedAt === undefined || stateIn(shown) === 'stopped' : Number(shownAt) === Number(stoppedAt)
}

function stateIn(shown: string): string {
  return shown.split(' ', 1)[0]!
}

function utc(at: number): string {
  return `${new Date(at * 1000).toISOString().slice(11, 19)} UTC`
}

function worded(state: string): string {
  return stateIn(state).slice(0, 40).toLowerCase().replaceAll('_', ' ')
}

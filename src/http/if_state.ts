// The header If-State: a button is pressed for what its screen shows. Where that is not so any more, nothing is done.

import { LabError } from '../errors.ts'
import type { Audit } from '../keys/audit.ts'

/** The newest lines of the audit trail among which the last change is looked for. */
const lookedThrough = 200

type Condition = { shown: string; present: string | undefined; path: string }

/** Throws `conflict` that names the present state, and who changed it last. A thing that is not there is refused by its own route. */
export async function mustBeAsShown({ audit }: { audit: Pick<Audit, 'newest'> }, { shown, present, path }: Condition): Promise<void> {
  if (present === undefined || isAsShown(shown, present)) return
  const [, kind = '', id = ''] = /^\/api\/(\w+)\/([^/]+)/.exec(path) ?? []
  const { entries } = await audit.newest(lookedThrough, 'done')
  const isAbout = (what: string) => what.includes(`/api/${kind}/${id}/`) || (kind === 'devices' && what === 'POST /api/stop')
  const last = entries.findLast(({ what }) => isAbout(what))
  const by = last ? `; ${last.name ?? 'somebody'} asked it to ${last.what.split('/').at(-1)} at ${utc(last.at)}` : ''
  const name = kind === 'devices' ? id : `${kind.slice(0, -1)} ${id.slice(0, 8)}`
  const change =
    stateIn(present) === stateIn(shown) ? `was stopped again` : `is ${worded(present)} by now, and was shown as ${worded(shown)}`
  throw new LabError('conflict', `${name} ${change}${by}; look again, then decide`)
}

/** `stopped 1764138000.5` differs from a stop at another time. Without the time any stop is meant, as clients of earlier versions send it. */
function isAsShown(shown: string, present: string): boolean {
  const [, stoppedAt] = shown.split(' ')
  const [, stopped_at] = present.split(' ')
  return stateIn(shown) === stateIn(present) && (stoppedAt === undefined || Number(stoppedAt) === Number(stopped_at))
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

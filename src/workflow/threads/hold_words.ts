// The sentences about a thread that is held: by a pause, or by an error about which somebody must decide.

import { messageOf } from '../../errors.ts'
import { uncertainty } from '../state/move.ts'
import type { Carrier } from './carrier.ts'
import { decisionsAt, type PauseSite } from './recovery.ts'
import type { RunEnvironment } from './run_environment.ts'

/** Says why a thread is paused, and how to continue it. `isLost`: nobody has said where its labware is. */
export function wordsOfPause(
  { state, last_error }: Pick<Carrier, 'state' | 'last_error'>,
  reason: 'manual' | 'system',
  { isLost, undecidedAt }: { isLost: boolean; undecidedAt: PauseSite | null },
): string {
  const { interrupted, error_before } = state
  const before = error_before === null ? '' : `; before the service ended, it had an error: ${error_before}`
  if (isLost) return `${uncertainty(state)}${before}`
  if (undecidedAt !== 'RESTART') return `paused (${reason}): resume it${before}`
  const hasBegun = interrupted?.status === 'EXECUTING_ACTION'
  const what = `${last_error} ${hasBegun ? 'in the midst of' : 'before'} ${interrupted?.name}`
  return `${what}: resume it, which does that${hasBegun ? ' again' : ''}; possible decisions: ${decisionsAt('RESTART').join(', ')}${before}`
}

/** Returns a function that says which error holds a thread, which decisions are possible, and which devices have been initialized since. */
export function wordsOfError({ equipment }: Pick<RunEnvironment, 'equipment'>, site: PauseSite, error: unknown): () => string {
  const latched = () => (equipment.faults?.() ?? []).map(({ device_id }) => device_id)
  const named = latched().filter((device_id) => messageOf(error).includes(device_id))
  return () => {
    const now = named.length > 0 ? latched() : []
    const over = named.filter((device_id) => !now.includes(device_id)).map((device_id) => `, and ${device_id} was initialized since`)
    return `${messageOf(error).replace(/\.$/, '')}${over.join('')}; possible decisions: ${decisionsAt(site).join(', ')}`
  }
}

/** Says why a thread needs no decision. */
export function nothingToDecide(
  { name, status }: Pick<Carrier, 'name' | 'status'>,
  { isDecided, isPaused }: { isDecided: boolean; isPaused: boolean },
): string {
  if (isDecided) return `somebody has decided about thread ${name} already`
  return `no error holds thread ${name}: it is ${status.current}${isPaused ? '; it was paused: resume it' : ''}`
}

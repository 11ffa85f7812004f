// Whether an arm may be moved from the page, and the next step where it may not. The file does not depend on a browser.

import type { DeviceInfo } from '../clients/ts/benchd.ts'
import { titled } from './forms.ts'
import { needsInitializing } from './needs.ts'

/** `next` is the step that helps. */
export type Obstacle = { why: string; next?: 'initialize' | { href: string; label: string } }

/** The owner that a lease from the page names. */
export function pageOwner(scope: string): string {
  return `page (${scope})`
}

/** Returns why the arm cannot be moved from this page; undefined if it can. `own` is the operation that this page holds. */
export function obstacleOf(device: DeviceInfo, scope: string, own?: string): Obstacle | undefined {
  const { device_id, state, lock, operation, fault } = device
  const [, run] = /^execution (\S+)/.exec(lock?.owner ?? '') ?? []
  if (state === 'external') return { why: `${device_id} is driven by another program.` }
  if (state === 'disconnected') return { why: `${device_id} is disconnected. Check its cable and its power.` }
  if (run) return { why: `A run uses ${device_id}.`, next: { href: `#/runs/${run}`, label: 'Show the run' } }
  if (lock && lock.owner !== pageOwner(scope))
    return { why: `${device_id} is reserved by ${lock.owner}.`, next: { href: '#/bench', label: 'Show the device' } }
  if (state === 'faulted')
    return { why: `${device_id} has a fault: ${fault?.error ?? 'unknown'}.`.replace(/\.\.$/, '.'), next: 'initialize' }
  if (needsInitializing(device))
    return { why: `${device_id} is ${state === 'stopped' ? 'stopped' : 'not initialized'}.`, next: 'initialize' }
  if (operation && operation.operation_id !== own) return { why: `${device_id} is busy: ${titled(operation.name)}.` }
  return undefined
}

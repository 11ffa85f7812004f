import { test } from 'tap'
import type { DeviceInfo } from '../clients/ts/benchd.ts'
import { obstacleOf } from './arm_state.ts'

const ready = { device_id: 'arm-1', state: 'ready', lock: null, operation: null, fault: null } as unknown as DeviceInfo
const busy = { ...ready, state: 'busy', operation: { operation_id: 'op-1', name: 'go_to' } } as DeviceInfo

test('an arm that would refuse to move is not offered for motion, and the next step is named', (t) => {
  const lock = (owner: string) => ({ lock: { owner, note: null, expires_at: 1 } })
  const of = (change: object) => obstacleOf({ ...ready, ...change }, 'operate')
  t.equal(of({}), undefined)
  t.match(of({ state: 'not_initialized' }), { why: 'arm-1 is not initialized.', next: 'initialize' })
  t.match(of({ state: 'stopped' }), { why: 'arm-1 is stopped.', next: 'initialize' })
  t.match(of({ state: 'faulted', fault: { error: 'it hit something.' } }), {
    why: 'arm-1 has a fault: it hit something.',
    next: 'initialize',
  })
  t.match(of({ state: 'disconnected' }), { why: /Check its cable/ })
  t.match(of({ state: 'external' }), { why: /another program/ })
  t.match(of(lock('execution 12-34')), { why: 'A run uses arm-1.', next: { href: '#/runs/12-34' } })
  t.match(of(lock('night shift')), { why: 'arm-1 is reserved by night shift.', next: { href: '#/bench' } })
  t.equal(of(lock('page (operate)')), undefined, 'this page may have reserved it')
  t.end()
})

test('an operation of somebody else is in the way, and one that this page holds is not', (t) => {
  t.match(obstacleOf(busy, 'operate'), { why: 'arm-1 is busy: Go to.' })
  t.match(obstacleOf(busy, 'operate', 'op-2'), { why: /busy/ })
  t.equal(obstacleOf(busy, 'operate', 'op-1'), undefined)
  t.end()
})

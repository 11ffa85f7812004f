import { test } from 'tap'
import type { State } from '../clients/ts/benchd.ts'
import { checksOf } from './run_checks.ts'

const device = (device_id: string, state: string) => ({ [device_id]: { device_id, state } })
const stateOf = (...devices: object[]) =>
  ({
    device: Object.assign({}, ...devices),
    topology: {
      demo: {
        devices: [{ device_id: 'shaker-1' }, { device_id: 'sealer-1' }, { device_id: 'spinner-1' }],
        transporters: [{ device_id: 'arm-1' }],
      },
    },
  }) as unknown as Pick<State, 'device' | 'topology'>
const asked = { topology: 'demo', mode: 'LIVE', refusal: null }

test('points that are missing are counted, and lead to Teach', (t) => {
  const refusal =
    'workflow spin cannot run in LIVE, only in PURE_SIM: arm-1 was not taught pad_1, pad_2 (teach them: POST /api/teachpoints/bulk); ' +
    'arm-2 was not taught nest (teach them: POST /api/teachpoints/bulk); the configuration has no device peeler-1'
  t.same(checksOf({ ...asked, refusal, state: stateOf() }), [
    { text: '3 teachpoints are missing for arm-1, arm-2: pad_1, pad_2, nest.', isBad: true, href: '#/teach', label: 'Teach them' },
    { text: 'The configuration has no device peeler-1.', isBad: true },
  ])
  t.end()
})

test('devices of the topology that are not ready can be initialized, for a run on the bench alone', (t) => {
  const state = stateOf(
    device('shaker-1', 'not_initialized'),
    device('sealer-1', 'stopped'),
    device('spinner-1', 'not_initialized'),
    device('arm-1', 'faulted'),
    device('other', 'stopped'),
  )
  const [waiting, broken, ...rest] = checksOf({ ...asked, state })
  t.equal(waiting?.text, 'Not ready: shaker-1, spinner-1 (not initialized), sealer-1 (stopped).')
  t.same(
    waiting?.initialize?.map(({ device_id }) => device_id),
    ['shaker-1', 'sealer-1', 'spinner-1'],
  )
  t.match(broken, { text: 'Out of order: arm-1 (fault).', href: '#/bench' })
  t.same(rest, [])
  t.same(checksOf({ ...asked, mode: 'DEVICE_SIM', state }), [])
  t.same(checksOf({ ...asked, state: stateOf(device('shaker-1', 'ready')) }), [])
  t.end()
})

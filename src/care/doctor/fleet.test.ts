import { test } from 'tap'
import { checkConfig } from '../../config.ts'
import { HostFiles } from '../../kit/host_files.ts'
import { fleet } from './fleet.ts'
import type { Patient, ServiceView } from './patient.ts'

async function found(link: object | null | undefined, more: object = {}) {
  const its = { servers: ['tls://broker.lab:4222'], lab: 'floor-2', name: 'bench-1', ...more }
  const service: ServiceView = link === undefined ? { is: 'absent' } : { is: 'answering', get: async <Answer>() => ({ link }) as Answer }
  const config = await checkConfig({ format: 1, fleet: its }, 'the bench')
  return fleet({ config, service, files: new HostFiles() } as Patient)
}

const well = { lab: 'floor-2', state: 'connected', failure: null, waiting: 0, lag_s: 0, lost: 0 }

test('a bench of its own has no finding about a lab', async (t) => {
  const config = await checkConfig({ format: 1 }, 'the bench')
  t.same(await fleet({ config, service: { is: 'absent' }, files: new HostFiles() } as Patient), [])
})

test('the connection is told with what waits and what is wrong', async (t) => {
  t.match(await found(well), [{ level: 'OK', finding: 'connected to the lab floor-2; all events are sent' }])
  t.match(await found({ ...well, waiting: 7, lag_s: 3.2 }), [{ level: 'OK', finding: /7 events wait, the oldest for 3 s/ }])
  t.match(await found({ ...well, lost: 5 }), [{ level: 'OK' }, { level: 'WARN', finding: '5 events never reached the lab' }])
  t.match(await found({ ...well, state: 'away', failure: 'it is off' }), [{ level: 'WARN', finding: 'it is off', fix: /broker\.lab/ }])
  t.match(await found({ ...well, state: 'away', failure: 'it is off', waiting: 7 }), [
    { level: 'WARN', fix: /kept and sent later: 7 events wait/ },
  ])
  t.match(await found({ ...well, failure: 'it may not', waiting: 7 }), [{ level: 'WARN', finding: 'it may not', fix: /7 events wait/ }])
  t.match(await found({ ...well, state: 'foreign', failure: 'two boxes' }), [{ level: 'FAIL', finding: 'two boxes', fix: /new-epoch/ }])
})

test('without the service the credentials are looked at, and a change that needs a restart is told', async (t) => {
  t.match(await found(undefined), [{ level: 'SKIP', finding: /only the service connects to tls:\/\/broker\.lab:4222/ }])
  t.match(await found(undefined, { credentials: '/none/bench-1.seed' }), [{ level: 'FAIL', finding: '/none/bench-1.seed is not there' }])
  const file = `${t.testdir({ seed: 'x' })}/seed`
  t.match(await found(well, { credentials: file }), [{ level: 'OK' }])
  t.match(await found(null), [{ level: 'WARN', fix: /restart/ }])
})

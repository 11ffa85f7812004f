import { test } from 'tap'
import { checkConfig } from '../../config.ts'
import type { Patient, ServiceView } from './patient.ts'
import { plugins } from './plugins.ts'

const well = { name: 'lamp', state: 'running', layer: 'isolated', module: '/p/lamp.ts', events_dropped: 0, restarts: 0, last_error: null }

async function found(listed: object[] | undefined, names = ['lamp']) {
  const service: ServiceView = listed ? { is: 'answering', get: async <Answer>() => ({ plugins: listed }) as Answer } : { is: 'absent' }
  const config = await checkConfig({ format: 1, plugins: Object.fromEntries(names.map((name) => [name, {}])) }, 'the bench')
  return plugins({ config, service } as Patient)
}

test('a bench without plug-ins has no finding about them', async (t) => {
  t.same(await found(undefined, []), [])
  t.match(await found(undefined), [{ level: 'SKIP', finding: 'only the service runs plug-ins' }])
})

test('each plug-in is named with its state, and what to do', async (t) => {
  t.match(await found([well]), [{ level: 'OK', finding: 'the plug-in lamp runs in a process of its own' }])
  t.match(await found([{ ...well, layer: 'in_process' }]), [{ level: 'OK', finding: /where it can delay a stop/ }])
  t.match(await found([{ ...well, state: 'failed', last_error: 'no file' }]), [
    { level: 'FAIL', finding: 'the plug-in lamp is given up: no file', fix: /benchd plugins restart lamp/ },
  ])
  t.match(await found([{ ...well, state: 'waiting', last_error: 'it threw: x' }]), [
    { level: 'WARN', finding: /started again soon: it threw: x/ },
  ])
  t.match(await found([{ ...well, state: 'held' }]), [{ level: 'WARN', finding: /safe mode/ }])
  t.match(await found([{ ...well, restarts: 2, last_error: 'it threw: x' }]), [
    { level: 'WARN', finding: /again 2 times; the last error: it threw: x/ },
  ])
  t.match(await found([{ ...well, events_dropped: 7 }]), [{ level: 'OK' }, { level: 'WARN', finding: /has lost 7 events/, fix: /"queue"/ }])
  t.match(await found([], ['new']), [{ level: 'WARN', finding: /does not run the plug-in new/, fix: 'benchd config reload' }])
})

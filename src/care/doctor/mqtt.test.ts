import { test } from 'tap'
import { checkConfig } from '../../config.ts'
import { mqtt } from './mqtt.ts'
import type { Patient, ServiceView } from './patient.ts'

async function found(link: object | null | undefined, more: object = { mqtt: { url: 'mqtts://broker.lab:8883' } }) {
  const service: ServiceView = link === undefined ? { is: 'absent' } : { is: 'answering', get: async <Answer>() => ({ link }) as Answer }
  return mqtt({ config: await checkConfig({ format: 1, ...more }, 'the bench'), service } as Patient)
}

const well = { url: 'mqtts://broker.lab:8883', topic: 'benchd/bench-1', is_connected: true, failure: null, dropped: 0 }

test('the connection to the MQTT broker is told with what is wrong; without a broker nothing is', async (t) => {
  t.same(await found(well, {}), [])
  t.match(await found(well), [{ level: 'OK', finding: 'publishes to mqtts://broker.lab:8883 below benchd/bench-1' }])
  t.match(await found({ ...well, is_connected: false, failure: 'it is off' }), [
    { level: 'WARN', finding: 'it is off', fix: /broker\.lab/ },
  ])
  t.match(await found(undefined), [{ level: 'SKIP', finding: /only the service connects to mqtts/ }])
  t.match(await found(null), [{ level: 'WARN', fix: /restart/ }])
})

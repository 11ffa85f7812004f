import { type Test, test } from 'tap'
import { openTestBench } from '../testing/http.ts'

const peel = '/api/devices/peeler-1/peel'

async function peeler(t: Test, limits: object = {}) {
  const devices = [
    { device_id: 'peeler-1', driver: 'xpeel', transport: { kind: 'simulated' }, limits },
    { device_id: 'sealer-1', driver: 'plateloc', transport: { kind: 'simulated' } },
  ]
  const bench = await openTestBench(t, { devices })
  await bench.ask('POST', '/api/devices/peeler-1/initialize')
  return bench
}

test('a peel without a body is the usual one', async (t) => {
  const { ask } = await peeler(t)
  t.match(await ask('POST', peel), { status: 200, body: { success: true, message: /parameter set 4, adhere 1/ } })
  t.match(await ask('POST', peel, { json: { adhere: 3 } }), { status: 200, body: { message: /parameter set 4, adhere 3/ } })
  t.match((await ask('GET', '/api/devices/peeler-1')).body, {
    last_operation: { operation: 'peel', params: { parameter_set: 4, adhere: 3 } },
  })
})

test('what a peel cannot be is refused', async (t) => {
  const { ask } = await peeler(t, { parameter_set: { max: 4 } })
  for (const json of [{ adhere: 2.5 }, { adhere: 5 }, { parameter_set: 0 }, { parameter_set: 5 }, { speed: 1 }]) {
    t.match(await ask('POST', peel, { json }), { status: 400 }, JSON.stringify(json))
  }
  t.match(await ask('POST', '/api/devices/sealer-1/peel'), { status: 400, body: { detail: /cannot peel/ } })
})

test('a sealer that tells no temperature says so', async (t) => {
  const { ask } = await peeler(t)
  t.match(await ask('GET', '/api/devices/sealer-1/get_temperature'), { status: 400, body: { detail: /cannot get_temperature/ } })
})

test('a peeler is of a type of its own, and no stop ends its motion', async (t) => {
  const { ask } = await peeler(t)
  t.match((await ask('GET', '/api/devices/peeler-1/capabilities')).body, {
    type: 'peeler',
    features: { uninterruptible: true },
    operations: [{ name: 'initialize' }, { name: 'peel' }, { name: 'stop' }, { name: 'open' }, { name: 'close' }, { name: 'initialized' }],
  })
})

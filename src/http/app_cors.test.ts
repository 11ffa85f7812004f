import { test } from 'tap'
import { openService, openTestBench } from '../testing/http.ts'

const origin = 'https://dashboard.lab.example'
const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-api-key' }

test('a page of an origin that is configured may ask, with the key as its header', async (t) => {
  const { ask } = await openTestBench(t, { cors: { origins: [origin] } })
  const preflight = await ask('OPTIONS', '/api/devices/shaker-1/shake', { key: null, headers })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-origin'), origin)
  t.match(preflight.headers.get('access-control-allow-headers'), /X-API-Key/)
  const answer = await ask('GET', '/api/devices', { headers: { Origin: origin } })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('access-control-allow-origin'), origin)
  t.match(answer.headers.get('access-control-expose-headers'), /X-Reason/)
  t.equal((await ask('GET', '/api/devices', { key: null, headers: { Origin: origin } })).status, 401)
})

test('a page of any other origin is told nothing', async (t) => {
  const { ask } = await openTestBench(t, { cors: { origins: [origin] } })
  const answer = await ask('GET', '/api/devices', { headers: { Origin: 'https://elsewhere.example' } })
  t.equal(answer.headers.get('access-control-allow-origin'), null)
})

test('the stream is read across origins too', async (t) => {
  const { url, secrets } = await openService(t, { cors: { origins: [origin] } })
  const answer = await fetch(`${url}/events/stream`, { headers: { 'X-API-Key': secrets.read, Origin: origin } })
  t.equal(answer.headers.get('access-control-allow-origin'), origin)
  const { value } = await answer.body!.getReader().read()
  t.match(new TextDecoder().decode(value), /^retry: 2000/)
})

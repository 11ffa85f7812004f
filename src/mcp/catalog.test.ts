// The tools: each is a route, has a schema that stands alone, and sends the request that it says.

import { test } from 'tap'
import { routes } from '../http/routes.ts'
import { testedCatalog } from '../testing/mcp.ts'
import { requestOf } from './catalog.ts'
import { toolTable } from './tool_table.ts'

const catalog = testedCatalog()
const routeOf = (operation_id: string) => routes.find((one) => one.operation_id === operation_id)

test('each row of the table is a tool of a route, and one that only reads has a route that does', (t) => {
  t.same([...catalog.keys()], Object.keys(toolTable))
  for (const [name, { operation_id, effect }] of Object.entries(toolTable)) {
    const { method, scope } = routeOf(operation_id)!
    t.equal(scope === 'any', effect === 'stop', name)
    if (effect === 'read') t.ok(method === 'GET' || ['simulate', 'checkSamples'].includes(operation_id), name)
    else t.not(method, 'GET', name)
  }
  t.end()
})

test('jogging, points, keys, pairing, configuration and teachpoints are no tools', (t) => {
  const paths = [...catalog.values()].map(({ path }) => path)
  for (const path of paths) t.notMatch(path, /jog|go_to|free_drive|keys|config|teachpoints|topology\/|backups|plugins|sim\//)
  for (const operation of ['jog', 'go_to', 'free_drive'])
    t.throws(() => requestOf(catalog.get('operate')!, { device_id: 'arm-1', operation, params: {} }), /no tool/)
  t.end()
})

test('each schema is an object without references that lead out of it', (t) => {
  for (const { name, input } of catalog.values()) {
    const text = JSON.stringify(input)
    t.equal(input.type, 'object', name)
    t.equal(input.additionalProperties, false, name)
    for (const [, reference = ''] of text.matchAll(/"\$ref":"([^"]+)"/g))
      t.ok(Object.hasOwn((input.$defs ?? {}) as object, reference.replace('#/$defs/', '')), `${name} ${reference}`)
    const names = Object.keys((input.properties ?? {}) as object)
    t.same(
      names.filter((its) => /^(x-)?(override|operator)$/i.test(its)),
      [],
      name,
    )
  }
  t.end()
})

test('arguments go to their places, and no argument leads to another route', (t) => {
  const operate = catalog.get('operate')!
  t.same(requestOf(operate, { device_id: 'a b', operation: 'shake', params: { speed: 1 }, idempotency_key: 'k' }), {
    method: 'POST',
    path: '/api/devices/a%20b/perform',
    body: { operation: 'shake', params: { speed: 1 } },
    headers: { 'Idempotency-Key': 'k', Prefer: 'respond-async' },
  })
  t.same(requestOf(catalog.get('list_events')!, { newest: 5 }).path, '/events?newest=5')
  const get = catalog.get('get_device')!
  for (const device_id of ['..', '.', '', 'x'.repeat(600), '\ud800', {}, null, ['a']])
    t.throws(() => requestOf(get, { device_id }), String(device_id))
  t.equal(requestOf(get, { device_id: '../x?y#z' }).path, '/api/devices/..%2Fx%3Fy%23z')
  t.equal(requestOf(catalog.get('stop_device')!, { device_id: 'a', reason: {}, force: true }).path, '/api/devices/a/stop')
  t.throws(() => requestOf(get, {}), /needs the parameter device_id/)
  t.throws(() => requestOf(get, { device_id: 'a', 'X-Override': 'true' }), /has no parameter/)
  t.throws(() => requestOf(operate, { device_id: 'a', operation: 'shake', idempotency_key: 'a\r\nX-Override: true' }), /ASCII/)
  t.end()
})

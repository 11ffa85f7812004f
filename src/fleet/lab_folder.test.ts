// A lab as `benchd lab init` makes it, on a real NATS server: TLS, a key for each client, and rights on its own subjects alone.

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { freePort } from '../kit/ports.ts'
import { brokerOn } from '../testing/broker.ts'
import { emitMany, upTo } from '../testing/events.ts'
import { fleetBench, sentAll, until } from '../testing/fleet.ts'
import { withBroker } from '../testing/with_broker.ts'
import { makeCertificate, makeLab, placeIn, readLab } from './lab_folder.ts'
import { eventSubject } from './outbox.ts'
import { setUp } from './setup.ts'
import { linesOfLab, Union } from './union.ts'
import { connectTo } from './wire.ts'

withBroker('benches, reader and admin of a lab can do what they have to over TLS, and nothing else', async (t) => {
  const folder = t.testdir({ one: {}, two: {} })
  const port = await freePort()
  await makeLab(`${folder}/lab`, ['one'], { name: 'floor-2', host: '127.0.0.1', port, store: `${folder}/store` })
  const { added, lab } = await makeLab(`${folder}/lab`, ['one', 'two'], undefined)
  t.same(added, ['two'])
  await makeCertificate(`${folder}/lab`, lab.host)
  for (const name of ['one', 'two', 'reader', 'admin']) t.equal(statSync(`${folder}/lab/keys/${name}.seed`).mode & 0o777, 0o600, name)
  const { fleet } = JSON.parse(readFileSync(`${folder}/lab/benches/two.json`, 'utf8'))
  t.same(fleet, {
    ...{ servers: [`tls://127.0.0.1:${port}`], lab: 'floor-2', name: 'two' },
    ...{ credentials: '/etc/benchd/fleet/two.seed', ca: '/etc/benchd/fleet/cert.pem' },
  })
  await brokerOn(t, `${folder}/lab/nats.conf`, port)
  const admin = placeIn(`${folder}/lab`, lab, 'admin')
  await until(() =>
    setUp(admin).then(
      () => true,
      () => false,
    ),
  )
  await setUp(admin)

  const more = (name: string) => ({ ...fleet, name, credentials: `${folder}/lab/keys/${name}.seed`, ca: admin.ca! })
  const one = await fleetBench(t, `${folder}/one`, '', { name: 'one', more: more('one') })
  const two = await fleetBench(t, `${folder}/two`, '', { name: 'two', more: more('two') })
  for (const { hub } of [one, two]) emitMany(hub, 100)
  await Promise.all([sentAll(one), sentAll(two)])
  await until(() => one.fleet.benches().filter(({ state }) => state === 'here').length === 2)
  await until(() => two.fleet.benches().length === 2)
  t.same([one.fleet.status().failure, two.fleet.status().failure], [null, null])
  const read: string[] = []
  const reader = placeIn(`${folder}/lab`, lab, 'reader')
  for await (const lines of linesOfLab(reader, { union: new Union(), follow: false, say: t.fail })) read.push(...lines)
  const counts = (bench: string) =>
    read
      .map((line) => JSON.parse(line))
      .filter((line) => line.bench === bench)
      .map(({ event }) => event.context.n)
  t.same([counts('one'), counts('two')], [upTo(100), upTo(100)])

  const link = await connectTo(more('one'))
  t.teardown(() => link.close())
  const send = (subject: string) => link.publish({ subject, payload: new Uint8Array(1), headers: {}, id: 'x', expected: 0 })
  await t.rejects(send(eventSubject('floor-2', 'two')), { message: /does not let this client do that/ })
  await t.rejects(link.put('$KV.bd_bench.two', new Uint8Array(1)), { message: /does not let this client do that/ })
  await t.rejects(link.newest('BD_EVT'), { message: /does not let this client do that/ })
  const reading = await connectTo(reader)
  t.teardown(() => reading.close())
  await t.rejects(reading.put('$KV.bd_bench.one', new Uint8Array(1)), { message: /does not let this client do that/ })

  await t.rejects(connectTo({ ...more('one'), credentials: `${folder}/lab/keys/none.seed` }), { code: 'not_found' })
  await t.rejects(connectTo({ servers: admin.servers, name: 'x', ca: admin.ca }), { message: /without credentials/ })
  await t.rejects(connectTo({ ...more('one'), ca: undefined }), { message: /certificate that is not trusted/ })
  // The second has the form of a seed, and a wrong check sum.
  for (const text of ['no seed', `SU${'A'.repeat(56)}`]) {
    writeFileSync(`${folder}/other.seed`, text)
    const connecting = connectTo({ ...more('one'), credentials: `${folder}/other.seed` })
    await t.rejects(connecting, { code: 'config', message: /holds no key for the broker/ }, text)
  }
})

test('a lab folder that is none or is damaged is told with its place; names that cannot be are refused', async (t) => {
  const folder = t.testdir({ bad: { 'lab.json': '{' }, wrong: { 'lab.json': '{"format":1,"name":"a b"}' } })
  const wanted = { name: 'floor-2', host: 'broker.lab', port: 4222, store: '/x' }
  await t.rejects(readLab(`${folder}/none`), { code: 'not_found', message: /benchd lab init/ })
  await t.rejects(readLab(`${folder}/bad`), { code: 'config', message: /lab\.json is no JSON/ })
  await t.rejects(readLab(`${folder}/wrong`), { code: 'config', message: /name.*benches/s })
  for (const name of ['reader', 'a.b', '*', ''])
    await t.rejects(makeLab(`${folder}/new-${name.length}`, [name], wanted), { code: 'invalid' })
})

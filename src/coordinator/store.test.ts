// The database of the coordinator, on a real PostgreSQL.

import { test } from 'tap'
import { halfOpenProxy } from '../testing/broker.ts'
import { noPostgres } from '../testing/lab.ts'
import { startPostgres } from './local_postgres.ts'
import { begun, newRun } from './state.ts'
import { Store, shown } from './store.ts'

test('what the database keeps of journeys', { skip: noPostgres }, async (t) => {
  const database = await startPostgres()
  // A server that listens may still be starting.
  const opened = (): Promise<Store> =>
    Store.open(database.url).catch((error: Error) => (/starting up/.test(error.message) ? opened() : Promise.reject(error)))
  const store = await opened()
  t.teardown(() => database.close())
  t.teardown(() => store.close())
  const add = async (journey_id: string, labware: string) => {
    const state = begun([])
    await store.add({ journey_id, name: 'assay', labware, state, begun_at: 0 })
    return state
  }
  const end = async (journey_id: string, labware: string) => {
    const state = { ...(await add(journey_id, labware)), outcome: 'done' as const, phase: 'over' as const }
    await store.keep(journey_id, 'done', state, 1)
  }

  await t.test('a decision about a state that the journey has left is not taken', async (t) => {
    const first = await add('j-1', 'P-1')
    t.ok(await store.decide('j-1', { verb: 'end', step: first.number, by: 'ann' }))
    t.match((await store.find('j-1'))?.decision, { number: 1, verb: 'end', step: 0 })
    const odd = 'the words of a bench\0 \ud800'
    await store.keep('j-1', 'open', { ...first, number: 1, overtaken: odd }, null)
    t.equal((await store.find('j-1'))?.state.overtaken, 'the words of a bench\ufffd \ufffd')
    t.notOk(await store.decide('j-1', { verb: 'back', step: first.number, by: 'ann' }))
    t.match((await store.find('j-1'))?.decision, { number: 1, verb: 'end' }, 'the one before stands')
  })

  await t.test('a journey that ends, however it does, gives its positions back, and its end is final', async (t) => {
    t.equal(await store.claim('j-1', ['prep/out', 'read/in']), undefined)
    t.equal(await store.claim('j-2', ['read/in']), 'j-1')
    const { state } = (await store.find('j-1'))!
    await store.keep('j-1', 'open', state, null)
    t.equal(await store.claim('j-2', ['read/in']), 'j-1', 'an open one keeps them')
    await store.keep('j-1', 'ended', { ...state, phase: 'over', outcome: 'ended' }, 2)
    t.equal(await store.claim('j-2', ['read/in']), undefined)
    await store.release('j-2')
    t.notOk(await store.decide('j-1', { verb: 'lost', step: state.number, by: 'ann' }))
  })

  await t.test('a run that is to be withdrawn is kept until it is', async (t) => {
    const run = newRun('read', 'e1')
    await store.owe('j-1', run)
    await store.owe('j-1', run)
    t.same(await store.owed(), [{ journey_id: 'j-1', run }])
    await store.settle(run.submission_id)
    t.same(await store.owed(), [])
  })

  await t.test('journeys are found by the beginning of their id and by their labware, also old ones', async (t) => {
    const names = async (name: string) => (await store.named(name, 10)).map(({ journey_id }) => journey_id)
    t.same(await names('j-'), ['j-1'])
    t.same(await names('P-1'), ['j-1'])
    t.same(await names('%'), [])
    t.same(await names("' OR 1=1 --"), [])
  })

  await t.test('old journeys are removed with their custody; who still has labware is not forgotten', async (t) => {
    for (let i = 2; i < 6; i++) await end(`j-${i}`, `P-${i}`)
    await add('j-6', 'P-6')
    const note = (labware: string, number: number, holder: Parameters<Store['noteCustody']>[0]['holder']) =>
      store.noteCustody({ labware, number, holder, journey_id: labware.replace('P', 'j'), at: 0 })
    await note('P-2', 1, { bench: 'prep', position: 'a' })
    await note('P-2', 2, { nobody: 'taken away' })
    await note('P-3', 1, { carrier: 'anyone' })
    await note('P-3', 2, { bench: 'read', position: 'in' })
    await note('P-6', 1, { bench: 'prep', position: 'b' })
    const old = (await store.oldest(2)).map(({ journey_id }) => journey_id)
    t.same(old, ['j-3', 'j-2', 'j-1'])
    t.same(await store.unheld(old), ['P-2'])
    await store.remove(old)
    t.same(await store.oldest(2), [])
    t.same(
      (await store.newest(10)).map(({ journey_id }) => journey_id),
      ['j-6', 'j-5', 'j-4'],
    )
    t.same(await store.custodyOf('P-2'), [])
    t.match(await store.custodyOf('P-3'), [{ number: 2, holder: { bench: 'read' } }])
    t.equal((await store.custodyOf('P-6')).length, 1)
  })

  await t.test('a connection on which nothing comes any more is told, though it stands', async (t) => {
    store.close()
    const proxy = await halfOpenProxy(t, `${new URL(database.url).searchParams.get('host')}/.s.PGSQL.5432`)
    const address = `postgresql://benchd@127.0.0.1:${new URL(proxy.url).port}/postgres`
    const other = await Store.open(address, { every_ms: 20, within_ms: 2000 })
    t.teardown(() => other.close())
    await other.add({ journey_id: 'j-9', name: 'assay', labware: 'P-9', state: begun([]), begun_at: 0 })
    proxy.swallow()
    t.equal(await other.gone, 'no answer within 2 s')
    proxy.mend()
  })

  await t.test('a database that is gone is told without a stack', async (t) => {
    await database.kill()
    t.match(await store.gone, /./)
    await t.rejects(store.find('j-1'), { code: 'disconnected', message: /^PostgreSQL does not answer: / })
    await t.rejects(store.keep('j-1', 'open', begun([]), null), { code: 'disconnected' })
  })
})

test('no sentence has the password of the database', async (t) => {
  const urls = [
    'postgresql://benchd:se%40cr:et/@db.invalid:1/lab',
    'postgresql://benchd:sesame-1@127.0.0.1:1/lab',
    'postgresql://benchd@127.0.0.1:1/lab?password=sesame-1&sslmode=disable',
    'postgresql://benchd:ses@me-1@127.0.0.1:1/lab',
    'postgresql://benchd:sesame-1@127.0.0.1:port/lab',
    'postgresql://benchd:sesame-1%zz@127.0.0.1:1/lab',
    'postgresql://benchd:it@sesame-1/@127.0.0.1:1/lab',
    'postgresql://benchd:1/sesame-1@127.0.0.1:1/lab',
    'postgresql://benchd:#sesame-1@127.0.0.1:1/lab',
    'postgresql://benchd:?sesame-1@127.0.0.1:1/lab',
  ]
  for (const url of urls) {
    t.notMatch(shown(url), /sesame|ses@me|cr:et|ses%40me/, url)
    const error = await Store.open(url).then(
      () => new Error('opened'),
      (error) => error as Error,
    )
    t.match(error, { code: /config|disconnected/ }, url)
    t.notMatch(`${error.message} ${error.stack} ${JSON.stringify(error)} ${error.cause ?? ''}`, /sesame|ses@me|cr:et|ses%40me/, url)
  }
})

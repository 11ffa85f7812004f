// What the devices did: by hand and in runs, over a restart, in pages.

import { cpSync } from 'node:fs'
import { test } from 'tap'
import { isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'

type Listed = { operations: Record<string, unknown>[]; next: string | null }

const shaker = '/api/devices/shaker-1'

async function listed({ ask }: Pick<TestedBench, 'ask'>, query = ''): Promise<Listed> {
  const { status, body, text } = await ask('GET', `/api/operations${query}`, { key: 'read' })
  if (status !== 200) throw new Error(text)
  return body as Listed
}

test('operations are listed with the newest first, by device and time, in pages, and after a restart', async (t) => {
  t.teardown(() => undefined)
  const folder = t.testdir({ first: {} })
  const first = await openTestBench(t, {}, { folder: `${folder}/first` })
  const { ask } = first
  await ask('POST', `${shaker}/initialize`, { key: 'operate' })
  await ask('POST', '/api/devices/sealer-1/initialize')
  await ask('POST', `${shaker}/set_temperature`, { json: { temperature: 37 } })
  const all = await listed(first)
  t.match(all, {
    operations: [
      { text: 'Set shaker-1 to 37 °C', device_id: 'shaker-1', params: { temperature: 37 }, execution_id: null },
      { text: 'Initialized sealer-1' },
      { text: 'Initialized shaker-1', by: /^[a-z0-9]{8}$/ },
    ],
    next: null,
  })
  t.equal(all.operations.length, 3)
  const texts = ({ operations }: Listed) => operations.map(({ text }) => text)
  t.same(texts(await listed(first, '?device_id=sealer-1')), ['Initialized sealer-1'])
  const { operations, next } = await listed(first, '?limit=1&device_id=shaker-1')
  t.equal(operations.length, 1)
  t.same(texts(await listed(first, `?limit=1&device_id=shaker-1&before=${next}`)), ['Initialized shaker-1'])
  const began = all.operations[0]!.started as number
  t.same(
    texts(await listed(first, `?since=${began}`)),
    texts(all).slice(0, all.operations.filter(({ started }) => started === began).length),
  )
  t.same(await listed(first, `?since=${began + 1000}`), { operations: [], next: null })
  await first.bench.ledger.close()
  cpSync(first.data_dir, `${folder}/second`, { recursive: true })
  const second = await openTestBench(t, {}, { folder: `${folder}/second` })
  t.same(texts(await listed(second)), texts(all))
  t.match((await listed(second)).operations.at(-1), { by: all.operations.at(-1)!.by })
})

test('an operation of a run names the run', async (t) => {
  const bench = await openTestBench(t)
  await bench.ask('POST', `${shaker}/initialize`)
  const instrument = bench.bench.registry.find('shaker-1')
  const release = instrument.lock.hold('run-1')
  await bench.clock.run(instrument.perform('lock_plate', {}))
  release()
  t.match((await listed(bench)).operations[0], { text: 'Locked the plate in shaker-1', execution_id: 'run-1', by: null })
})

test('what cannot be asked for is refused with the reason', async (t) => {
  const { ask } = await openTestBench(t)
  for (const [query, words] of [
    ['since=yesterday', /since: it must be Unix time in seconds, or a time with its zone/],
    ['since=1769846400000', /these may be milliseconds/],
    ['since=2&until=1', /since is not before until/],
    ['before=nothing', /there is no .*nothing.* any more; begin again without before/],
    ['limit=0', /limit/],
    ['device=a', /it takes device_id, since, until, limit, before/],
  ] as const) {
    const reply = await ask('GET', `/api/operations?${query}`)
    isRefusal(t, reply, 400, 'invalid')
    t.match(reply.text, words)
  }
  isRefusal(t, await ask('GET', '/api/operations?device_id=nobody'), 404, 'not_found')
})

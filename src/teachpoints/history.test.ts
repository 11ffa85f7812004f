import { readFileSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { Teachpoints } from './store.ts'
import type { Teachpoint } from './teachpoint.ts'

const point = (name: string, x: number): Teachpoint => ({
  device_id: 'arm-1',
  name,
  coord_type: 'cartesian',
  coords: { x, y: 0, z: 0, yaw: 0, pitch: 0, roll: 0 },
})

const xOf = (point: Teachpoint | null) => point && (point.coords as { x: number }).x

async function begin(t: Test) {
  const folder = t.testdir()
  const reports: string[] = []
  const open = async () => {
    const store = await Teachpoints.open({ folder, report: ({ message }) => void reports.push(message) })
    t.teardown(() => store.close())
    return store
  }
  const shown = (store: Teachpoints, name: string) =>
    store.history('arm-1', name).map(({ by, point }) => `${xOf(point) ?? 'deleted'} ${by}`)
  return { folder, reports, open, shown }
}

test('each change of a point is a version that says who made it, over restarts and deletions', async (t) => {
  const { open, shown, reports } = await begin(t)
  const store = await open()
  await store.create(point('a', 1), { by: 'eve' })
  await store.replace('arm-1', 'a', point('a', 2), { by: 'adam' })
  await store.replace('arm-1', 'a', point('a', 2), { by: 'nobody' })
  await store.importAll([point('a', 3), point('b', 9)], { overwrite: true, by: 'file' })
  await store.delete('arm-1', 'a', { by: 'eve' })
  const wanted = ['deleted eve', '3 file', '2 adam', '1 eve']
  t.same(shown(store, 'a'), wanted)
  t.same(shown(store, 'b'), ['9 file'])
  await store.close()
  const again = await open()
  t.same(shown(again, 'a'), wanted)
  const before = again.history('arm-1', 'a').find(({ point }) => xOf(point) === 2)!
  t.same(await again.restore('arm-1', 'a', before.version, { by: 'adam' }), point('a', 2))
  t.same(again.get('arm-1', 'a'), point('a', 2))
  t.same(shown(again, 'a'), ['2 adam', ...wanted])
  t.throws(() => again.history('arm-1', 'never'), { code: 'not_found' })
  t.same(reports, [])
})

test('a version that is not there, a deletion, and a point that somebody changed meanwhile are refused, and nothing changes', async (t) => {
  const { open, shown } = await begin(t)
  const store = await open()
  await store.create(point('a', 1), {})
  await store.delete('arm-1', 'a')
  const [deleted, first] = store.history('arm-1', 'a')
  await t.rejects(store.restore('arm-1', 'a', 'nonsense'), { code: 'not_found', message: /has no version nonsense/ })
  await t.rejects(store.restore('arm-1', 'a', deleted!.version), { code: 'invalid', message: /is deleted/ })
  await t.rejects(store.restore('arm-1', 'a', first!.version, { tag: first!.version }), { code: 'conflict' })
  await store.restore('arm-1', 'a', first!.version, { tag: deleted!.version })
  await t.rejects(store.restore('arm-1', 'a', first!.version, { tag: deleted!.version }), { code: 'conflict' })
  t.same(
    shown(store, 'a'),
    ['1 undefined', 'deleted undefined', '1 undefined'].map((line) => line.replace('undefined', 'null')),
  )
})

test('what was changed by hand, or before there was a history, is a version of nobody', async (t) => {
  const { folder, open, shown } = await begin(t)
  writeFileSync(`${folder}/teachpoints.json`, JSON.stringify({ format: 1, teachpoints: [point('a', 1)] }))
  const store = await open()
  t.same(shown(store, 'a'), ['1 null'])
  await store.replace('arm-1', 'a', point('a', 2), { by: 'eve' })
  t.same(shown(store, 'a'), ['2 eve', '1 null'])
  await store.close()
  writeFileSync(`${folder}/teachpoints.json`, JSON.stringify({ format: 1, teachpoints: [point('a', 7)] }))
  const again = await open()
  t.same(shown(again, 'a'), ['7 null', '2 eve', '1 null'])
  await again.replace('arm-1', 'a', point('a', 8), { by: 'eve' })
  t.same(shown(again, 'a'), ['8 eve', '7 null', '2 eve', '1 null'])
})

test('twenty versions of a point are kept, and the file does not grow for ever', async (t) => {
  const { folder, open, shown } = await begin(t)
  const store = await open()
  const all = (x: number) => Array.from({ length: 200 }, (_, i) => point(`p${i}`, x))
  for (let x = 0; x < 25; x++) await store.importAll(all(x), { overwrite: true, by: 'eve' })
  t.same(
    shown(store, 'p7'),
    Array.from({ length: 20 }, (_, i) => `${24 - i} eve`),
  )
  const lines = readFileSync(`${folder}/teachpoint_history.jsonl`, 'utf8').trimEnd().split('\n').length
  t.ok(lines < 5000, `${lines} lines of 5,000 that were written`)
})

test('a damaged history is told and kept, and the points are whole', async (t) => {
  const { folder, open, shown, reports } = await begin(t)
  const store = await open()
  await store.create(point('a', 1), { by: 'eve' })
  await store.replace('arm-1', 'a', point('a', 2), { by: 'eve' })
  await store.close()
  const path = `${folder}/teachpoint_history.jsonl`
  writeFileSync(path, readFileSync(path, 'utf8').replace('"x":1', '"x":7'))
  const again = await open()
  t.match(reports, [
    /^teachpoint_history\.jsonl is damaged .*: earlier versions of teachpoints may be missing; the points themselves are whole/,
  ])
  t.same(shown(again, 'a'), ['2 eve'])
})

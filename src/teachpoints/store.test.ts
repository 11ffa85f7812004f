import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { mostPoints, Teachpoints } from './store.ts'
import type { Teachpoint } from './teachpoint.ts'

test('points are listed by name, each device for itself, over a restart too', async (t) => {
  const { store, open } = await begin(t)
  for (const name of ['b', '😀', '\uffee', 'a', 'B']) await store.create(at('arm-1', name))
  await store.create(at('arm-2', 'a'))
  for (const each of [store, await open()]) {
    t.same(namesOf(each, 'arm-1'), ['B', 'a', 'b', '\uffee', '😀'])
    t.same(namesOf(each, 'arm-2'), ['a'])
    t.same(namesOf(each, 'arm-3'), [])
    t.same(each.get('arm-1', 'a'), at('arm-1', 'a'))
  }
})

test('a point whose name looks like that of another one of the device is refused, alone and in an import', async (t) => {
  const { store } = await begin(t)
  for (const name of ['\u00e9', 'pad', 'pad 1']) await store.create(at('arm-1', name))
  for (const name of ['e\u0301', 'pa\u200bd', 'pad\u00a01']) {
    await t.rejects(store.create(at('arm-1', name)), { code: 'invalid', message: /looks like it; nothing was stored/ })
    await t.rejects(store.importAll([at('arm-1', name)], { overwrite: true }), { code: 'invalid', message: /looks like it/ })
    await store.create(at('arm-2', name))
  }
  await t.rejects(store.importAll([at('arm-1', 'x'), at('arm-1', 'x\u200b')], { overwrite: false }), { code: 'invalid' })
  await store.importAll([at('arm-1', 'pad', 2)], { overwrite: true })
  t.same(namesOf(store, 'arm-1'), ['pad', 'pad 1', '\u00e9'])
})

test('names of earlier versions lose the white space at their ends, unless another point has the name then', async (t) => {
  const { folder, open } = await begin(t)
  const teachpoints = [
    { ...at('arm-1', 'a'), gateway: 'a ' },
    { ...at('arm-1', 'a ', 1), gateway: ' b' },
    { ...at('arm-1', ' b', 2), gateway: 'away ' },
    { ...at('arm-1', ' ', 3), gateway: ' ', access: ' ' },
  ]
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/teachpoints.json`, JSON.stringify({ format: 1, teachpoints }))
  const store = await open()
  t.same(
    store.list('arm-1').map(({ name, gateway }) => [name, gateway]),
    [
      [' ', ' '],
      ['a', 'a '],
      ['a ', 'b'],
      ['b', 'away'],
    ],
  )
  await store.create(at('arm-1', 'c'))
  t.same(namesOf(await open(), 'arm-1'), [' ', 'a', 'a ', 'b', 'c'])
})

test('a point that is not there is named', async (t) => {
  const { store } = await begin(t)
  t.throws(() => store.get('arm-1', 'home'), { code: 'not_found', message: /arm-1 has no teachpoint home/ })
  await t.rejects(store.replace('arm-1', 'home', at('arm-1', 'home')), { code: 'not_found' })
  await t.rejects(store.delete('arm-1', 'home'), { code: 'not_found' })
})

test('of many who create a name at the same time exactly one wins, and its point is the one stored', async (t) => {
  const { store, open } = await begin(t)
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, x) => store.create(at('arm-1', 'home', x))))
  const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
  t.equal(won.length, 1)
  for (const outcome of outcomes) if (outcome.status === 'rejected') t.match(outcome.reason, { code: 'exists' })
  t.same((await open()).list('arm-1'), won)
})

test('writers at the same time lose nothing', async (t) => {
  const { store, open } = await begin(t)
  await store.create(at('arm-1', 'gone'))
  await Promise.all([
    ...Array.from({ length: 20 }, (_, i) => store.create(at(`arm-${i % 3}`, `p${i}`, i))),
    store.importAll([at('arm-9', 'a'), at('arm-9', 'b')], { overwrite: false }),
    store.delete('arm-1', 'gone'),
  ])
  const after = await open()
  t.same([0, 1, 2].flatMap((i) => after.list(`arm-${i}`)).length, 20)
  t.same(namesOf(after, 'arm-9'), ['a', 'b'])
})

test('a point is replaced whole, under its own name only', async (t) => {
  const { store, open } = await begin(t)
  await store.create({ ...at('arm-1', 'home'), gateway: 'safe' })
  await store.replace('arm-1', 'home', at('arm-1', 'home', 7))
  t.same((await open()).list('arm-1'), [at('arm-1', 'home', 7)])
  await t.rejects(store.replace('arm-1', 'home', at('arm-1', 'other')), { code: 'invalid' })
  await t.rejects(store.replace('arm-1', 'home', at('arm-2', 'home')), { code: 'invalid' })
  await store.delete('arm-1', 'home')
  t.same((await open()).list('arm-1'), [])
})

test('an import is all or nothing', async (t) => {
  const { store, open } = await begin(t)
  await store.create(at('arm-1', 'b', 1))
  const before = store.list('arm-1')
  const points = [at('arm-1', 'a', 2), at('arm-1', 'b', 2)]
  await t.rejects(store.importAll(points, { overwrite: false }), { code: 'exists', message: /teachpoint b/ })
  await t.rejects(store.importAll([...points, points[0]!], { overwrite: true }), { code: 'invalid', message: /a of arm-1 is there twice/ })
  t.same(store.list('arm-1'), before)
  t.same((await open()).list('arm-1'), before)
  t.same(await store.importAll(points, { overwrite: true }), { created: 1, updated: 1 })
  t.same((await open()).list('arm-1'), points)
  t.same(await store.importAll([], { overwrite: false }), { created: 0, updated: 0 })
})

test('what is exported is imported to the same', async (t) => {
  const { store } = await begin(t)
  await store.importAll(
    [{ ...at('arm-1', 'a'), orientation: 'left', access: { access_type: 'vertical' }, gateway: 'b' }, at('arm-1', 'b')],
    { overwrite: false },
  )
  const exported = JSON.stringify(store.list('arm-1'))
  await store.importAll(JSON.parse(exported), { overwrite: true })
  t.equal(JSON.stringify(store.list('arm-1')), exported)
})

test('a device has no more than so many points, and the others are not touched by that', async (t) => {
  const { store } = await begin(t)
  const full = Array.from({ length: mostPoints }, (_, i) => at('arm-1', `p${i}`))
  await t.rejects(store.importAll([...full, at('arm-1', 'more')], { overwrite: false }), {
    code: 'invalid',
    message: /1001 teachpoints.*1000 is the limit/,
  })
  t.same(store.list('arm-1'), [])
  await store.importAll(full, { overwrite: false })
  await t.rejects(store.create(at('arm-1', 'more')), { code: 'invalid', message: /1000 is the limit/ })
  await store.create(at('arm-2', 'more'))
  await store.replace('arm-1', 'p0', at('arm-1', 'p0', 7))
  await store.importAll(full, { overwrite: true })
  await store.delete('arm-1', 'p0')
  await store.create(at('arm-1', 'more'))
  t.equal(store.list('arm-1').length, mostPoints)
})

test('a point cannot be its own gateway', async (t) => {
  const { store } = await begin(t)
  const round = { ...at('arm-1', 'home'), gateway: 'home' }
  await t.rejects(store.create(round), { code: 'invalid', message: /its own gateway/ })
  await t.rejects(store.importAll([round], { overwrite: true }), { code: 'invalid' })
  await store.create(at('arm-1', 'home'))
  await t.rejects(store.replace('arm-1', 'home', round), { code: 'invalid' })
})

test('names are names, whatever they mean elsewhere', async (t) => {
  const { store, open } = await begin(t)
  const names = ['__proto__', 'constructor', 'a/b', '../../etc/passwd', 'e\u0301', '%2e%2e', ' ']
  for (const name of names) await store.create(at('__proto__', name))
  const after = await open()
  for (const name of names) t.same(after.get('__proto__', name), at('__proto__', name))
})

test('what is handed out cannot be changed', async (t) => {
  const { store } = await begin(t)
  const point = await store.create(at('arm-1', 'home'))
  t.throws(() => Object.assign(point, { name: 'other' }))
  t.throws(() => Object.assign(store.get('arm-1', 'home').coords, { x: 7 }))
  store.list('arm-1').pop()
  t.same(store.list('arm-1'), [at('arm-1', 'home')])
})

test('a failed write leaves memory as the disk is, and the next one works', async (t) => {
  const { store, open, folder } = await begin(t)
  await store.create(at('arm-1', 'home'))
  // A file in the place of the folder stops each write, for root too.
  renameSync(folder, `${folder}.away`)
  writeFileSync(folder, '')
  await t.rejects(store.create(at('arm-1', 'lost')), {
    code: 'storage',
    message: /teachpoints\.json could not be looked at/,
  })
  await t.rejects(store.delete('arm-1', 'home'), { code: 'storage' })
  t.same(namesOf(store, 'arm-1'), ['home'])
  rmSync(folder)
  renameSync(`${folder}.away`, folder)
  t.same(namesOf(await open(), 'arm-1'), ['home'])
  await store.create(at('arm-1', 'kept'))
  t.same(namesOf(await open(), 'arm-1'), ['home', 'kept'])
})

test('a file written by hand may be in any order, but has no name twice', async (t) => {
  const { open, folder, reports } = await begin(t)
  const by = (...points: Teachpoint[]) => writeFileSync(`${folder}/teachpoints.json`, JSON.stringify({ format: 1, teachpoints: points }))
  mkdirSync(folder, { recursive: true })
  by(at('arm-2', 'b'), at('arm-1', 'c'), at('arm-2', 'a'))
  t.same(namesOf(await open(), 'arm-2'), ['a', 'b'])
  by(at('arm-2', 'b'), at('arm-2', 'b'))
  t.same((await open()).list('arm-2'), [])
  t.match(reports, [/a name is there twice/])
})

test('the file is one that a person can read', async (t) => {
  const { store, folder } = await begin(t)
  await store.importAll([at('arm-1', 'a'), at('arm-1', 'b')], { overwrite: false })
  const lines = readFileSync(`${folder}/teachpoints.json`, 'utf8').split('\n')
  t.equal(lines.filter((line) => line.startsWith('{"device_id":"arm-1"')).length, 2)
})

async function begin(t: Test) {
  const folder = `${t.testdir({})}/state`
  const reports: string[] = []
  const open = async () => {
    const store = await Teachpoints.open({ folder, report: ({ message }) => reports.push(message) })
    t.teardown(() => store.close())
    return store
  }
  return { folder, reports, open, store: await open() }
}

function at(device_id: string, name: string, x = 0): Teachpoint {
  return { device_id, name, coord_type: 'cartesian', coords: { x, y: 2.5, z: -3, yaw: 0, pitch: 0, roll: 180 } }
}

function namesOf(store: Teachpoints, device_id: string): string[] {
  return store.list(device_id).map(({ name }) => name)
}

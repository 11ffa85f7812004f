import { test } from 'tap'
import { openBench } from '../bench/bench.ts'
import { silent } from '../kit/log.ts'
import { benchConfig } from '../testing/http.ts'
import { app } from './app.ts'
import { runRoutes } from './run_routes.ts'
import { runPaths, runRoots, serviceRoutes } from './service_routes.ts'

test('workflows are opened when the first of them is asked for, and at the start where they were used before', async (t) => {
  const folder = t.testdir({ data: {}, topologies: {} })
  const open = async () => openBench(await benchConfig(), { data_dir: `${folder}/data`, topologies: `${folder}/topologies`, log: silent })
  const bench = await open()
  const hono = app(bench)
  const { api_key } = await bench.keys.create({ name: 'test', scope: 'admin' })
  const headers = { Host: 'localhost', 'X-API-Key': api_key, 'Content-Type': 'application/json' }

  t.equal((await hono.request('/api/devices', { headers })).status, 200)
  t.equal((await hono.request('/api/topologies', { headers: { Host: 'localhost' } })).status, 401)
  t.throws(() => bench.runs, { code: 'internal' }, 'neither opens them')
  const answers = await Promise.all(['/api/topologies', '/api/executions'].map(async (path) => hono.request(path, { headers })))
  t.same(
    answers.map(({ status }) => status),
    [200, 200],
    'two at once',
  )
  t.ok(bench.runs)
  t.equal((await hono.request('/api/executions/x/y', { headers })).status, 404)
  const refused = await hono.request('/api/topologies', { method: 'DELETE', headers })
  t.match([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'])
  const body = JSON.stringify({ name: 'demo' })
  t.equal((await hono.request('/api/topology/load', { method: 'POST', headers, body })).status, 200)
  await bench.close()

  const again = await open()
  t.equal(again.runs.runtime.environments.topology?.name, 'demo')
  await again.close()
})

test('the routes about workflows open them, whichever is asked first', async (t) => {
  const topologies = t.testdir({})
  for (const theirs of runPaths) {
    const { method, path } = runRoutes.find(({ path }) => `${path}/`.startsWith(theirs.replace(/\*$/, '')))!
    const bench = await openBench(await benchConfig(), { data_dir: t.testdir({}), topologies, log: silent })
    const { api_key } = await bench.keys.create({ name: 'test', scope: 'admin' })
    const headers = { Host: 'localhost', 'X-API-Key': api_key, 'Content-Type': 'application/json' }
    const body = method === 'GET' || method === 'DELETE' ? null : '{}'
    const answer = await app(bench).request(path.replaceAll(/:\w+/g, 'x'), { method, headers, body })
    t.not(answer.status, 500, `${method} ${path}`)
    t.ok(bench.runs, `${method} ${path}`)
    await answer.body?.cancel()
    await bench.close()
  }
})

test('workflows are prepared before anybody uses them, and opened anew where that failed', async (t) => {
  const bench = await openBench(await benchConfig(), { data_dir: t.testdir({}), log: silent })
  t.teardown(() => bench.close())
  let fails = true
  await bench.prepareRuns(async ({ catalog }) => {
    t.throws(() => bench.runs, { code: 'internal' }, 'nobody has them yet')
    if (fails) throw new Error('it failed')
    await catalog.load('demo')
  })
  const unregistered: (string | undefined)[] = []
  const unregister = bench.hub.unregisterSink.bind(bench.hub)
  bench.hub.unregisterSink = (sink) => {
    unregistered.push(sink.name)
    unregister(sink)
  }
  await t.rejects(bench.openRuns(), { message: 'it failed' })
  t.same(unregistered, ['ExecutionTrackingSink'], 'nothing of the first opening stays')
  fails = false
  t.equal((await bench.openRuns()).runtime.environments.topology?.name, 'demo')
  let prepared = 0
  await bench.prepareRuns(async () => prepared++)
  t.equal(prepared, 1, 'at once where they are open')
})

test('a path of theirs leads to each of the routes about workflows, and to no other', (t) => {
  const isTheirs = (path: string) => runPaths.some((theirs) => `${path}/`.startsWith(theirs.replace(/\*$/, '')))
  t.same(
    runRoutes.filter(({ path, scope }) => !isTheirs(path) || scope === 'public'),
    [],
  )
  t.same(
    serviceRoutes.filter(({ path }) => isTheirs(path)),
    [],
  )
  const known = new Set(runRoutes.map(({ path }) => path))
  t.same(
    runRoots.filter((path) => !known.has(path)),
    [],
    'a path that a refusal names is that of a route',
  )
  t.end()
})

// The coordinator of a lab over HTTP, as far as that needs no PostgreSQL: its OpenAPI document, and how it answers what is not right.

import { test } from 'tap'
import { silent } from '../kit/log.ts'
import { readShipped } from '../kit/shipped.ts'
import { parseLabFile } from './lab_file.ts'
import { labOpenapi, labRoutes } from './openapi.ts'
import { startCoordinator } from './start.ts'

type Document = {
  openapi: string
  info: { title: string }
  paths: Record<string, Record<string, { operationId: string; parameters?: object[] }>>
}

test('the committed document of the coordinator is what its routes say, and has every one of them', async (t) => {
  const committed = new TextDecoder().decode(await readShipped(new URL('../../../src/http/openapi-lab.json', import.meta.url)))
  t.ok(committed === `${JSON.stringify(labOpenapi(), null, 2)}\n`, 'src/http/openapi-lab.json is not in step; run npm run generate')
  const { paths } = JSON.parse(committed) as Document
  const there = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
  t.same(there.sort(), labRoutes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`).sort())
  t.notMatch(committed, /"name": "Idempotency-Key"/, 'the coordinator takes none')
})

test('the health of the coordinator names a database and a broker that are away', (t) => {
  const health = labRoutes.find(({ path }) => path === '/health')!
  const of = (coordinator: object | undefined, broker: { isConnected: boolean } | undefined) => {
    const { status, bodyUsed: _, ...rest } = health.handle({ rooms: { coordinator, benches: { broker } } } as never) as Response
    return [status, rest]
  }
  t.equal(of({}, undefined)[0], 200)
  t.equal(of({}, { isConnected: true })[0], 200)
  t.equal(of({}, { isConnected: false })[0], 503)
  t.equal(of(undefined, undefined)[0], 503)
  t.end()
})

test('the coordinator serves its document, and refuses what is not right with a sentence', async (t) => {
  const database = `postgresql:///none?host=${encodeURIComponent(t.testdir())}`
  const lab = parseLabFile(JSON.stringify({ format: 1, name: 'floor-2', database, benches: {}, journeys: {} }), 'lab.json')
  const service = await startCoordinator(lab, { data_dir: t.testdir({}), host: '127.0.0.1', port: 0, log: silent })
  t.teardown(() => service.close())
  const { api_key } = await service.keys.create({ name: 'test', scope: 'admin' })
  const ask = async (method: string, path: string, body?: string) => {
    const headers = { 'X-API-Key': api_key, ...(body !== undefined && { 'Content-Type': 'application/json' }) }
    const answer = await fetch(service.url + path, { method, headers, ...(body !== undefined && { body }) })
    const { detail = '' } = (await answer.json()) as { detail?: string }
    return { status: answer.status, reason: answer.headers.get('x-reason'), id: answer.headers.get('x-request-id'), detail }
  }

  const whoAmI = await fetch(`${service.url}/api/system/whoami`, { headers: { 'X-API-Key': api_key } })
  t.match(await whoAmI.json(), { name: 'test', scope: 'admin' }, 'no bench is asked for it')

  const served = await fetch(`${service.url}/openapi.json`)
  t.equal(served.headers.get('content-type'), 'application/json')
  t.match(await served.json(), { openapi: '3.1.0', info: { title: 'benchd lab' } })

  const page = await (await fetch(`${service.url}/docs`)).text()
  const module = await (await fetch(`${service.url}/docs/docs.js`)).text()
  const paths = [
    ...[...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path]) => new URL(path!, service.url).pathname),
    ...[...module.matchAll(/from '(\.[^']+)'/g)].map(([, path]) => new URL(path!, `${service.url}/docs/`).pathname),
  ]
  t.ok(paths.length > 8, `${paths}`)
  for (const path of paths.filter((path) => path !== '/docs/guides/care')) t.equal((await fetch(service.url + path)).status, 200, path)

  const refused: [method: string, path: string, body: string | undefined, status: number, reason: string, detail: RegExp][] = [
    ['GET', '/api/lab/journeys?limt=3', undefined, 400, 'invalid', /"limt".*did you mean "?limit/],
    ['GET', '/api/lab/tasks?all=1', undefined, 400, 'invalid', /it takes none/],
    ['GET', '/api/lab/journeys?limit=many', undefined, 400, 'invalid', /limit/],
    ['POST', '/api/lab/journeys', undefined, 400, 'invalid', /the body is missing/],
    ['POST', '/api/lab/journeys', '{', 400, 'invalid', /the body/],
    ['POST', '/api/lab/journeys', '{"journey":"assay","labware":"P 1"}', 400, 'invalid', /labware.*letters, digits/],
    ['POST', '/api/lab/journeys', '{"journey":"assay","labware":"P-1","labwear":1}', 400, 'invalid', /labwear/],
    ['POST', '/api/lab/journeys/x/decide', '{"decision":"retyr"}', 400, 'invalid', /decision/],
    ['DELETE', '/api/lab/journeys', undefined, 405, 'method_not_allowed', /use GET, HEAD, POST/],
    ['GET', '/api/lab/nothing', undefined, 404, 'not_found', /there is nothing at/],
    ['GET', '/api/lab/jurneys', undefined, 404, 'not_found', /did you mean \/api\/lab\/journeys\?; \/docs shows/],
    ['GET', '/api/lab/journeys', undefined, 503, 'storage', /PostgreSQL does not answer/],
  ]
  for (const [method, path, body, status, reason, detail] of refused) {
    const answer = await ask(method, path, body)
    t.match(answer, { status, reason, id: /./ }, `${method} ${path} ${body ?? ''}`)
    t.match(answer.detail, detail)
  }
  const stranger = await fetch(`${service.url}/api/lab`)
  t.match(await stranger.json(), { detail: /must hold a valid key; make one on the computer of the coordinator with: .* --data-dir/ })
})

import { test } from 'tap'
import * as v from 'valibot'
import { labRoutes } from '../coordinator/openapi.ts'
import { operations } from '../devices/operations.ts'
import { readShipped } from '../kit/shipped.ts'
import { mustBeDocumented } from '../testing/documented.ts'
import { openTestBench } from '../testing/http.ts'
import { statuses } from './errors.ts'
import { openapi } from './openapi.ts'
import { examples } from './openapi_examples.ts'
import { meanings, parameters } from './openapi_words.ts'
import { routes } from './routes.ts'

type Reference = { $ref: string }
type Parameter = { name: string; in: string; required: boolean; description?: string; schema: { type?: string }; example?: unknown }
type Operation = {
  operationId: string
  tags: string[]
  parameters?: Parameter[]
  security?: object[]
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> }
  responses: Record<string, Reference | { description: string }>
}
type Document = {
  openapi: string
  info: { version: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Record<string, unknown>>; securitySchemes: Record<string, object> }
}

// As others read it: without members that are undefined.
const document = JSON.parse(JSON.stringify(openapi(routes))) as Document
const all = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

/** The rows of the contract. */
const rows = [
  'GET /api/devices',
  'GET /api/devices/{device_id}',
  'GET /api/devices/{device_id}/capabilities',
  'GET /api/devices/{device_id}/initialized',
  'POST /api/devices/{device_id}/initialize',
  'POST /api/devices/{device_id}/shake',
  'POST /api/devices/{device_id}/centrifuge',
  'POST /api/devices/{device_id}/seal',
  'POST /api/devices/{device_id}/stop',
  'POST /api/devices/{device_id}/open',
  'POST /api/devices/{device_id}/close',
  'POST /api/devices/{device_id}/lock_plate',
  'POST /api/devices/{device_id}/unlock_plate',
  'POST /api/devices/{device_id}/set_temperature',
  'GET /api/devices/{device_id}/get_temperature',
  'GET /api/teachpoints',
  'GET /api/teachpoints/{device_id}/{name}',
  'POST /api/teachpoints',
  'PUT /api/teachpoints/{device_id}/{name}',
  'DELETE /api/teachpoints/{device_id}/{name}',
  'POST /api/teachpoints/bulk',
  'GET /api/teachpoints/export/{device_id}',
  'GET /events',
  'GET /events/stream',
]

test('the committed document is what the routes say', async (t) => {
  const committed = new TextDecoder().decode(await readShipped(new URL('../../../src/http/openapi.json', import.meta.url)))
  t.ok(
    committed === `${JSON.stringify(openapi(routes), null, 2)}\n`,
    'src/http/openapi.json is not in step with the routes; run npm run generate',
  )
})

test('it is OpenAPI 3.1 of the version of the API, and holds every row of the contract', async (t) => {
  t.equal(document.openapi, '3.1.0')
  t.equal(document.info.version, '2.1.0')
  const there = all.map(({ path, method }) => `${method.toUpperCase()} ${path}`)
  for (const row of rows) t.ok(there.includes(row), row)
  t.equal(there.length, routes.length, 'and every route besides')
})

test('every pointer leads somewhere, and no name is unfit', async (t) => {
  for (const ref of pointers(document)) t.ok(at(ref), ref)
  for (const name of Object.keys(document.components.schemas)) t.match(name, /^[A-Za-z0-9._-]+$/)
})

test('every operation has an id of its own, a tag that is explained, and an answer for everything', async (t) => {
  const ids = all.map(({ operation }) => operation.operationId)
  t.same(ids, [...new Set(ids)])
  const tags = document.tags.map(({ name }) => name)
  for (const { operation } of all) {
    t.match(operation.operationId, /^[a-z][A-Za-z0-9]+$/)
    t.ok(operation.tags.length === 1 && tags.includes(operation.tags[0]!), operation.operationId)
    t.ok(operation.responses.default, operation.operationId)
    for (const status of Object.keys(operation.responses)) t.match(status, /^([1-5]\d\d|default)$/)
    for (const answer of Object.values(operation.responses)) t.ok(resolved(answer).description, operation.operationId)
  }
})

test('every parameter of a path is declared once, required, and explained', async (t) => {
  for (const { path, operation } of all) {
    const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
    t.same(
      declared.map(({ name }) => name),
      wanted,
      path,
    )
    for (const { name, required, description } of declared) {
      t.ok(required, `${path} ${name}`)
      t.equal(description, parameters[name]?.description, `${path} ${name}`)
    }
  }
})

test('the example of a parameter has the type of its schema', async (t) => {
  const parameters = all.flatMap(({ operation }) => operation.parameters ?? []).filter(({ example }) => example !== undefined)
  t.ok(parameters.length > 0)
  for (const { name, schema, example } of parameters) t.equal(typeof example, schema.type === 'integer' ? 'number' : schema.type, name)
})

test('no two paths are the same but for the names of their parameters', async (t) => {
  const shapes = Object.keys(document.paths).map((path) => path.replace(/\{\w+\}/g, '{}'))
  t.same(shapes, [...new Set(shapes)])
})

test('what needs no key says so, and everything else needs the key', async (t) => {
  t.match(document.components.securitySchemes.ApiKey, { type: 'apiKey', in: 'header', name: 'X-API-Key' })
  const open = all.filter(({ operation }) => operation.security?.length === 0)
  t.same(
    open.map(({ operation }) => operation.operationId),
    routes.filter(({ scope }) => scope === 'public').map((route) => route.operation_id),
  )
  for (const { operation } of all) t.equal('401' in operation.responses, operation.security === undefined, operation.operationId)
})

test('every body has an example, and the service would take it', async (t) => {
  const every = [...routes, ...labRoutes]
  for (const { operation_id, body } of every) {
    const entries = (body as { entries?: object } | undefined)?.entries
    if (!body || (entries && Object.keys(entries).length === 0)) continue
    const { success, issues } = v.safeParse(body, examples[operation_id]?.body)
    t.ok(success, `${operation_id}: ${issues?.[0]?.message}`)
  }
  const known = every.map((route) => route.operation_id)
  for (const operation_id of Object.keys(examples)) t.ok(known.includes(operation_id), operation_id)
})

test('every status that the service can answer has a meaning', async (t) => {
  for (const status of Object.values(statuses)) t.ok(meanings[status], String(status))
  for (const { errors, operation_id } of routes) for (const status of errors) t.ok(meanings[status], `${operation_id} ${status}`)
})

test('every quantity of an operation carries its unit', async (t) => {
  type Member = { type?: string; 'x-unit'?: string; description?: string; items?: object }
  const schemas = document.components.schemas as Record<string, { properties?: Record<string, Member> }>
  /** The members, and in place of a list those of its records. */
  const membersOf = ({ properties = {} }: (typeof schemas)[string]): [string, Member][] =>
    Object.entries(properties).flatMap(([name, member]) =>
      member.type === 'array' ? membersOf(resolved(member.items!) as (typeof schemas)[string]) : [[name, member] as [string, Member]],
    )
  t.match(schemas.ShakeDeviceRequest?.properties, {
    speed: { type: 'number', 'x-unit': 'rpm', description: /in rpm/ },
    duration: { type: 'number', 'x-unit': 's', description: /in s/ },
  })
  const named = all.filter(
    ({ path, method }) => method === 'post' && path.startsWith('/api/devices/') && path.split('/').at(-1)! in operations,
  )
  for (const { operation } of named) {
    const schema =
      operation.requestBody && (resolved(operation.requestBody.content['application/json']!.schema) as (typeof schemas)[string])
    const quantities = membersOf(schema ?? {}).filter(([, { type }]) => type !== 'integer' && type !== 'string')
    for (const [name, member] of quantities) t.type(member['x-unit'], 'string', `${operation.operationId} ${name}`)
  }
})

test('a query is told as what it means, not as the text it comes in', async (t) => {
  const since = document.paths['/events']?.get?.parameters?.find(({ name }) => name === 'since')
  t.match(since, { in: 'query', required: false, schema: { type: 'number', 'x-unit': 's' } })
})

test('a choice of records says by which member to choose', async (t) => {
  t.match(document.components.schemas.Teachpoint, {
    discriminator: {
      propertyName: 'coord_type',
      mapping: { cartesian: '#/components/schemas/CartesianTeachpoint', joint: '#/components/schemas/JointTeachpoint' },
    },
  })
  for (const [name, schema] of Object.entries(document.components.schemas)) t.equal('oneOf' in schema, 'discriminator' in schema, name)
})

test('a runtime event is closed and has its seven members', async (t) => {
  const { required, additionalProperties } = document.components.schemas.RuntimeEvent!
  t.same(required, ['event_name', 'execution_id', 'timestamp', 'entity_type', 'entity_id', 'status', 'context'])
  t.equal(additionalProperties, false)
})

function pointers(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [inner as string] : pointers(inner)))
}

function at(ref: string): object | undefined {
  const [top, ...keys] = ref.split('/')
  return top === '#' ? keys.reduce<Record<string, never> | undefined>((place, key) => place?.[key], document as never) : undefined
}

function resolved<T extends object>(thing: T | Reference): Exclude<T, Reference> {
  return ('$ref' in thing ? at(thing.$ref as string) : thing) as Exclude<T, Reference>
}

test('every header of an answer is named for its status', async (t) => {
  const { ask } = await openTestBench(t)
  const shaker = '/api/devices/shaker-1'
  const backup = (await ask('POST', '/api/system/backups')).headers.get('location') ?? ''
  const keyed = { json: { speed: 300, duration: 1 }, headers: { Prefer: 'respond-async', 'Idempotency-Key': 'one' } }
  for (const name of ['initialize', 'lock_plate']) await ask('POST', `${shaker}/${name}`)
  const asked = [
    ['fetchBackup', 'GET', backup, {}, 200, 'Content-Disposition'],
    ['fetchBundle', 'GET', '/api/system/bundle', {}, 200, 'Content-Disposition'],
    ['shakeDevice', 'POST', `${shaker}/shake`, keyed, 202, 'Preference-Applied'],
    ['shakeDevice', 'POST', `${shaker}/shake`, keyed, 202, 'Idempotency-Replayed'],
    ['shakeDevice', 'POST', `${shaker}/shake`, { key: null }, 401, 'WWW-Authenticate'],
    ['shakeDevice', 'POST', `${shaker}/shake`, { json: keyed.json }, 409, 'Retry-After'],
    ['shakeDevice', 'GET', `${shaker}/shake`, {}, 405, 'Allow'],
    ['openDevice', 'POST', '/api/devices/spare-1/initialize', {}, 200, 'Operation-Id'],
    ['shakeDevice', 'POST', '/api/devices/spare-1/shake', { json: keyed.json }, 409, 'Operation-Id'],
    ['createKey', 'POST', '/api/keys', { json: { name: 'ann', scope: 'read' } }, 201, 'Location'],
  ] as const
  for (const [operation_id, method, path, asking, status, header] of asked) {
    const reply = await ask(method, path, asking)
    t.match([reply.status, reply.headers.get(header)], [status, /./], `${operation_id} ${header}`)
    t.doesNotThrow(() => mustBeDocumented(operation_id, reply))
  }
})

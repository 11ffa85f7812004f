// The OpenAPI document, made from the table of routes. For the generator and for tests alone: it needs a development dependency.

import * as v from 'valibot'
import { type OperationName, operations } from '../devices/operations.ts'
import type { ErrorCode } from '../errors.ts'
import * as contexts from '../events/contexts.ts'
import { type JsonSchema, jsonSchema, jsonSchemas } from '../kit/json_schema.ts'
import { JsonWorkflow } from '../workflow/plans/documents.ts'
import { longestOperator, operatorHeader } from './author.ts'
import type { Route } from './contract.ts'
import { statuses } from './errors.ts'
import { takesIdempotencyKey } from './idempotency.ts'
import { examples, usual } from './openapi_examples.ts'
import { named } from './openapi_schemas.ts'
import { about, meanings, parameters, reasons, tags } from './openapi_words.ts'
import { apiVersion } from './version.ts'

const at = '#/components/schemas/'
/** An operation that goes on after its answer says where its outcome will be. */
const acceptedHeaders = ['Location', 'Operation-Id', 'Preference-Applied'] as const

/** Bodies that a route takes as they are, and has looked over elsewhere. */
const bodies: Record<string, v.GenericSchema> = { putWorkflow: JsonWorkflow }

/** The title and the words of a document, and the records that have names of their own in it. */
type Subject = {
  title: string
  about: string
  tags: Partial<Record<Route['tag'], string>>
  named: Record<string, v.GenericSchema>
  /** Whether requests may carry an `Idempotency-Key`. */
  is_idempotent: boolean
}

const bench: Subject = { title: 'benchd', about, tags, named, is_idempotent: true }

/** The document, as the routes say it. */
export function openapi(routes: readonly Route[], of = bench): object {
  const schemas = allNamed(routes, of.named)
  const nameOf = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]))
  return {
    openapi: '3.1.0',
    info: { title: of.title, version: apiVersion, description: of.about, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/', description: 'Where this document was found' }],
    security: [{ ApiKey: [] }, { Bearer: [] }],
    tags: Object.entries(of.tags).map(([name, description]) => ({ name, description })),
    paths: paths(routes, nameOf, of),
    components: {
      securitySchemes: {
        ApiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description:
            'A key begins with `bk_` and has a scope: read, operate or admin; each may what those before it may. Made with `benchd key create`.',
        },
        Bearer: { type: 'http', scheme: 'bearer', description: 'The same key, for clients that know this header alone' },
      },
      schemas: 'RuntimeEvent' in schemas ? withContexts(jsonSchemas(schemas, { at })) : jsonSchemas(schemas, { at }),
      headers: headers(routes),
      responses: {
        ...Object.fromEntries(statusesOf(routes).map((status) => [responseName(status), errorResponse(status, routes)])),
        Other: otherResponse(),
      },
    },
  }
}

/** Names the contexts that the service emits; a workflow or a client may emit any other. */
function withContexts({ RuntimeEvent: event, ...schemas }: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const { context, ...properties } = event?.properties as { context: JsonSchema }
  const { description, ...other } = context
  const known = Object.keys(contexts).map((name) => ({ $ref: `${at}${name}` }))
  return { ...schemas, RuntimeEvent: { ...event, properties: { ...properties, context: { anyOf: [...known, other], description } } } }
}

/** Names also the bodies that have no name of their own: they are called after their operation. */
function allNamed(routes: readonly Route[], named: Subject['named']): Record<string, v.GenericSchema> {
  const all = { ...named }
  const known = new Set(Object.values(all))
  const add = (schema: v.GenericSchema | undefined, name: string) => {
    if (!schema || known.has(schema) || !isRecord(schema)) return
    known.add(schema)
    all[isEmpty(schema) ? 'Nothing' : name] = schema
  }
  for (const { operation_id, body, success } of routes) {
    add(bodies[operation_id] ?? body, `${capital(operation_id)}Request`)
    add(success.schema, `${capital(operation_id)}Response`)
  }
  return all
}

type Names = ReadonlyMap<v.GenericSchema, string>

function paths(routes: readonly Route[], names: Names, of: Subject): object {
  const found: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    found[path] = { ...found[path], [route.method.toLowerCase()]: operation(route, names, of) }
  }
  return found
}

function operation(route: Route, names: Names, of: Subject): object {
  const { operation_id, tag, summary, description, scope, body, takes_file } = route
  const its = [...pathParameters(route), ...queryParameters(route), ...headerParameters(route, of)]
  return {
    operationId: operation_id,
    tags: [tag],
    summary,
    description: [description, scopeInWords(scope)].filter(Boolean).join(' '),
    'x-scope': scope,
    ...margin(route),
    ...(scope === 'public' && { security: [] }),
    ...(its.length && { parameters: its }),
    ...(body && { requestBody: requestBody(route, bodies[operation_id] ?? body, names) }),
    ...(takes_file && { requestBody: fileBody }),
    responses: responses(route, names),
  }
}

function scopeInWords(scope: Route['scope']): string {
  if (scope === 'public') return 'Needs no key.'
  return scope === 'any' ? 'Any valid key will do.' : `Needs a key of scope \`${scope}\`.`
}

/** How long it may last besides the `duration` that is asked for, and whether it is ours alone. */
function margin({ path, accepted }: Route): object {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (!accepted || !(name in operations)) return {}
  const { margin_seconds, ...more } = operations[name as OperationName]
  return { 'x-margin-seconds': margin_seconds, ...('extension' in more && { 'x-extension': true }) }
}

function pathParameters({ path, operation_id }: Route): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const { description, schema } = parameters[name] ?? { description: name, schema: v.string() }
    return {
      name,
      in: 'path',
      required: true,
      description,
      schema: withoutDescription(jsonSchema(schema)),
      ...exampleOf(operation_id, name),
    }
  })
}

function queryParameters({ query, operation_id }: Route): object[] {
  return Object.entries(query?.entries ?? {}).map(([name, entry]) => {
    const schema = jsonSchema(entry, { side: 'output' })
    return {
      name,
      in: 'query',
      required: entry.type !== 'optional',
      ...(schema.description !== undefined && { description: schema.description }),
      schema: withoutDescription(schema),
      ...exampleOf(operation_id, name),
    }
  })
}

function headerParameters(route: Route, { is_idempotent }: Subject): object[] {
  const { accepted, success, errors } = route
  const text = { type: 'string' }
  const all: [there: unknown, name: string, description: string, schema: object][] = [
    [
      accepted,
      'Prefer',
      '`respond-async`: to be answered at once; `handling=strict`: to be answered 409 when the operation was stopped',
      { type: 'string', enum: ['respond-async', 'handling=strict'] },
    ],
    [is_idempotent && takesIdempotencyKey(route), 'Idempotency-Key', onceWords, { type: 'string', minLength: 1, maxLength: 64 }],
    [route.operation_id === 'fetchRequestedKey', 'X-Request-Secret', 'As it was answered to the request', text],
    [errors.includes(423), 'X-Override', overrideWords, { type: 'string', enum: ['true'] }],
    [route.method !== 'GET', operatorHeader, operatorWords, { type: 'string', maxLength: longestOperator * 12 }],
    [route.conditional, 'If-Match', 'The `ETag` that it was read with: refused with 409 `conflict` if it has been changed since', text],
    [route.state_of, 'If-State', ifStateWords, text],
    [success.media_type === 'text/event-stream', 'Last-Event-ID', lastWords, { type: 'string', pattern: '^[0-9]+$' }],
  ]
  return all
    .filter(([there]) => there)
    .map(([, name, description, schema]) => ({ name, in: 'header', required: false, description, schema }))
}

const onceWords =
  'Done once: asked again with the same key and body within a day, it answers the same again, or 409 where its answer is not stored any more. ' +
  '503 where no more requests can be remembered: then nothing was done'
const operatorWords =
  `The name of the person who asks, for a key that several people share; percent-encoded as UTF-8, at most ${longestOperator} characters. ` +
  'It is stored with the request and shown as "said to be". Nobody checks it, and it decides nothing'
const overrideWords = 'Passes though somebody else holds the device; only with a key of scope `admin`'
const lastWords = 'The last `id` that was seen: the stream goes on after it, from the log'
const ifStateWords =
  'The state that somebody was shown (`state` of a device, `status` of a thread; of a run its `status`, or `PAUSED`): refused with 409 `conflict` if it is another one by now. ' +
  'After the state of a device that is stopped, a space and `at` of its last stop (`stopped.again`, or `stopped`): refused too if it was stopped again'

function exampleOf(operation_id: string, name: string): object {
  const example = examples[operation_id]?.parameters?.[name] ?? usual[name]
  return example === undefined ? {} : { example }
}

function requestBody({ operation_id, body_may_be_empty = false }: Route, body: v.GenericSchema, names: Names): object {
  const example = examples[operation_id]?.body
  return {
    required: !body_may_be_empty,
    content: { 'application/json': { schema: schemaOf(body, names), ...(example !== undefined && { example }) } },
  }
}

const fileBody = { required: true, content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } }

function responses(route: Route, names: Names): object {
  const { success, accepted } = route
  const replayed = takesIdempotencyKey(route) ? ['Idempotency-Replayed'] : []
  const own = {
    description: success.description,
    headers: headerRefs([...(success.headers ?? []), ...replayed]),
    ...content(success, names),
  }
  const answers: [number, object][] = [success.status, ...(success.also ?? [])].map((status) => [status, own])
  if (accepted)
    answers.push([
      202,
      { description: accepted.description, headers: headerRefs([...acceptedHeaders, ...replayed]), ...content(accepted, names) },
    ])
  for (const status of errorsOf(route)) answers.push([status, { $ref: `#/components/responses/${responseName(status)}` }])
  return { ...Object.fromEntries(answers), default: { $ref: '#/components/responses/Other' } }
}

/** The statuses of the route, and those that follow from its properties. */
function errorsOf({ errors, scope, body }: Route): number[] {
  const all = new Set<number>([...errors, 400, 500])
  if (scope !== 'public') all.add(401).add(429)
  if (scope === 'operate' || scope === 'admin') all.add(403)
  if (body) all.add(413).add(415)
  return [...all]
}

/** The errors that at least one route names, in ascending order; `Other` stands for the rest. */
function statusesOf(routes: readonly Route[]): number[] {
  return [...new Set(routes.flatMap(errorsOf))].sort((a, b) => a - b)
}

type Answered = { schema?: v.GenericSchema; media_type?: string; also_media_type?: string }

function content({ schema, media_type = 'application/json', also_media_type }: Answered, names: Names): object {
  const also = also_media_type === undefined ? {} : { [also_media_type]: { schema: { type: 'string' } } }
  if (media_type !== 'application/json') return { content: { [media_type]: { schema: { type: 'string' } } } }
  return schema ? { content: { [media_type]: { schema: schemaOf(schema, names) }, ...also } } : {}
}

function schemaOf(schema: v.GenericSchema, names: Names): JsonSchema {
  const name = names.get(schema) ?? (isEmpty(schema) ? 'Nothing' : undefined)
  if (name !== undefined) return { $ref: `${at}${name}` }
  return jsonSchema(schema, { named: Object.fromEntries([...names].map(([its, called]) => [called, its])), at })
}

/** Headers of answers; of those that belong to some routes, the ones that these routes have. */
function headers(routes: readonly Route[]): object {
  const text = { type: 'string' }
  const ofRoutes = {
    'Operation-Id': { description: 'Id of the operation; its outcome is at `/api/operations/{operation_id}`', schema: text },
    ETag: { description: 'Another one for another content: give it back as `If-Match`', schema: text },
    Location: { description: 'Where the new thing is, or the outcome will be', schema: text },
    'Preference-Applied': { description: '`respond-async`: the answer did not wait for the end', schema: text },
    'Content-Disposition': { description: 'The name of the file', schema: text },
    'Idempotency-Replayed': { description: '`true` for what was answered before to a request with this `Idempotency-Key`', schema: text },
  }
  const own = new Set<string>(
    routes.flatMap((route) => [
      ...(route.success.headers ?? []),
      ...(route.accepted ? acceptedHeaders : []),
      ...(takesIdempotencyKey(route) ? ['Idempotency-Replayed'] : []),
    ]),
  )
  return {
    'X-Request-Id': {
      description: 'The id of this request, in the log and the audit trail of the service too: that of the request, if it had one',
      schema: text,
    },
    'X-API-Version': { description: 'The version of the API', schema: { type: 'string', example: apiVersion } },
    'Retry-After': { description: 'Seconds after which asking again makes sense', schema: { type: 'integer', minimum: 0, 'x-unit': 's' } },
    'WWW-Authenticate': { description: 'How a key is sent', schema: text },
    Allow: { description: 'The methods of the path', schema: text },
    'X-Reason': {
      ...reasonHeader(Object.keys(reasons)),
      'x-meanings': Object.fromEntries(Object.entries(reasons).map(([word, meaning]) => [word, { status: statusOf(word), meaning }])),
    },
    ...Object.fromEntries(Object.entries(ofRoutes).filter(([name]) => own.has(name))),
  }
}

function headerRefs(names: readonly string[]): object {
  return Object.fromEntries(['X-API-Version', 'X-Request-Id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const headersOfErrors: Record<number, readonly string[]> = {
  401: ['WWW-Authenticate'],
  409: ['Retry-After'],
  429: ['Retry-After'],
  500: ['Idempotency-Replayed'],
  503: ['Retry-After'],
}

function errorResponse(status: number, routes: readonly Route[]): object {
  const its = headersOfErrors[status] ?? []
  // An operation that had begun was refused by its instrument or has failed, and its outcome is kept.
  const operation = [409, 500, 503].includes(status) && routes.some(({ accepted }) => accepted) ? ['Operation-Id'] : []
  return {
    description: meanings[status],
    headers: { ...headerRefs([...its, ...operation]), 'X-Reason': reasonHeader(wordsOf(status)) },
    ...errorContent,
  }
}

function otherResponse(): object {
  return {
    description: 'Any other error, such as those of the HTTP parser: 405, 408, 421, 431, 503',
    headers: { ...headerRefs(['Allow', 'Retry-After', 'WWW-Authenticate']), 'X-Reason': { $ref: '#/components/headers/X-Reason' } },
    ...errorContent,
  }
}

const errorContent = { content: { 'application/json': { schema: { $ref: `${at}Error` } } } }

function wordsOf(status: number): string[] {
  return Object.keys(reasons).filter((word) => statusOf(word) === status)
}

function statusOf(word: string): number {
  return word === 'starting' ? 503 : statuses[word as ErrorCode]
}

function reasonHeader(words: readonly string[]): object {
  return { description: 'The error, as a word for programs', schema: { type: 'string', enum: words } }
}

function responseName(status: number): string {
  return `Error${status}`
}

/** Whether a schema deserves a name: an object, or a choice of objects. */
function isRecord(schema: v.GenericSchema): boolean {
  return ['strict_object', 'object', 'variant', 'union'].includes(schema.type)
}

function isEmpty(schema: v.GenericSchema): boolean {
  return 'entries' in schema && Object.keys(schema.entries as object).length === 0
}

function withoutDescription({ description: _, ...schema }: JsonSchema): JsonSchema {
  return schema
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`
}

// The part of the TypeScript client that is made from the routes: a type for each body, and the table of operations.

import { modeWords } from '../../src/workflow/state/modes.ts'

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  required?: string[]
  description?: string
  'x-unit'?: string
}
type Parameter = { name: string; in: string; required?: boolean; schema: Schema; description?: string; $ref?: string }
type Content = { content?: Record<string, { schema?: Schema }> }
type Operation = {
  operationId: string
  summary: string
  parameters?: Parameter[]
  requestBody?: Content & { required?: boolean }
  responses: Record<string, Content>
}
export type Document = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } }

export function typescriptClient({ paths, components }: Document): string {
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  return [
    '// Made by `npm run generate` from the routes: the bodies of the API, and what can be asked.',
    '',
    ...Object.entries(components.schemas).map(([name, schema]) => `${comment(schema)}export type ${typeName(name)} = ${typeOf(schema)}\n`),
    '/** The modes of a run as people read them, by their value in `run_mode`. */',
    `export const modeWords: Readonly<Record<SubmissionRequest['run_mode'], string>> = ${literal(modeWords)}`,
    '',
    '/** The request and the answer of each operation. */',
    'export type Operations = {',
    ...found.map(({ operation }) => `  /** ${operation.summary} */\n  ${operation.operationId}: ${signature(operation)}`),
    '}',
    '',
    '/** Where each operation is. */',
    'export const operations = {',
    ...found.map(({ path, method, operation }) => `  ${operation.operationId}: ['${method}', '${path}'],`),
    '} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>',
    '',
  ].join('\n')
}

function signature({ parameters = [], requestBody, responses }: Operation): string {
  const members = (where: string) => {
    const these = parameters.filter((parameter) => parameter.in === where)
    const required = where === 'path' ? these.map(({ name }) => name) : []
    return typeOf({
      type: 'object',
      properties: Object.fromEntries(these.map(({ name, schema }) => [name, schema])),
      required,
      additionalProperties: false,
    })
  }
  const [answer, accepted] = Object.entries(responses).flatMap(([status, response]) => (status.startsWith('2') ? [answerIn(response)] : []))
  const body = schemaIn(requestBody)
  const later = accepted ? `; accepted: ${accepted}` : ''
  return `{ path: ${members('path')}; query: ${members('query')}; body: ${body ? typeOf(body) : isFile(requestBody) ? 'Blob' : 'undefined'}; answer: ${answer ?? 'unknown'}${later} }`
}

function answerIn(response: Content): string {
  return response.content?.['text/event-stream'] ? 'ReadableStream<Uint8Array>' : typeOf(schemaIn(response) ?? {})
}

/** Whether the body is a file as it is. */
function isFile(content: Content | undefined): boolean {
  return content?.content?.['application/octet-stream'] !== undefined
}

function schemaIn(content: Content | undefined): Schema | undefined {
  return content?.content?.['application/json']?.schema
}

function typeOf(schema: Schema): string {
  const { $ref, anyOf, oneOf, type, items, properties, additionalProperties, required = [] } = schema
  if ($ref) return typeName($ref.split('/').at(-1)!)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => quoted(value)).join(' | ')
  const alternatives = anyOf ?? oneOf
  if (alternatives) return alternatives.map(typeOf).join(' | ')
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join(' | ')
  if (type === 'array') return `Array<${typeOf(items ?? {})}>`
  if (type === 'object') {
    const rest = typeof additionalProperties === 'object' ? additionalProperties : additionalProperties === false ? undefined : {}
    const members = Object.entries(properties ?? {}).map(
      ([name, one]) => `${/^\w+$/.test(name) ? name : quoted(name)}${required.includes(name) ? '' : '?'}: ${typeOf(one)}`,
    )
    if (members.length === 0) return rest ? `Record<string, ${typeOf(rest)}>` : 'Record<string, never>'
    return `{ ${members.join('; ')} }`
  }
  return { string: 'string', number: 'number', integer: 'number', boolean: 'boolean', null: 'null' }[type ?? ''] ?? 'unknown'
}

function literal(texts: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(texts)
    .map(([name, text]) => `${name}: ${quoted(text)}`)
    .join(', ')} }`
}

/** `Error` is a name of the language. */
function typeName(name: string): string {
  return name === 'Error' ? 'ErrorBody' : name
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)
}

function comment({ description }: Schema): string {
  return description ? `/** ${description} */\n` : ''
}

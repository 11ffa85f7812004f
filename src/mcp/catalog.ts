// The tools with their schemas: the rows of the table, with the words and the schemas of the bench's OpenAPI document.

import { messageOf } from '../errors.ts'
import type { Request } from './bench_link.ts'
import { type Effect, headerParameters, operationsOfPeople, type ToolRow, toolTable } from './tool_table.ts'

type Schema = { [keyword: string]: unknown }
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema }
type Operation = {
  operationId: string
  summary: string
  description?: string
  'x-scope': string
  parameters?: readonly Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
}

/** The parts of an OpenAPI document that are read. */
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** The place of an argument in the request. */
type Place = { in: 'path' | 'query' | 'header' | 'body'; name: string }

export type Tool = {
  name: string
  title: string
  description: string
  effect: Effect
  /** The smallest scope of a key: `read`, `operate`, `admin`, or `any`. */
  scope: string
  input: Schema & { type: 'object' }
  method: string
  path: string
  places: ReadonlyMap<string, Place>
  /** Whether the answer comes at once, and the outcome later. */
  is_asynchronous: boolean
}

export type Catalog = ReadonlyMap<string, Tool>

const refAt = '#/components/schemas/'

/** Makes all tools. A bench of another version may lack a route; it has no such tool. */
export function catalogOf(document: ApiDocument): Catalog {
  const operations = new Map<string, { method: string; path: string; operation: Operation }>()
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) operations.set(operation.operationId, { method, path, operation })
  const tools = new Map<string, Tool>()
  for (const [name, row] of Object.entries(toolTable)) {
    const found = operations.get(row.operation_id)
    if (found) tools.set(name, toolOf(name, row, { ...found, schemas: document.components.schemas }))
  }
  return tools
}

type Found = { method: string; path: string; operation: Operation; schemas: ApiDocument['components']['schemas'] }

function toolOf(name: string, { effect, title, without = [], more }: ToolRow, { method, path, operation, schemas }: Found): Tool {
  const places = new Map<string, Place>()
  const properties: Record<string, Schema> = {}
  const required: string[] = []
  const add = (argument: string, place: Place, schema: Schema, isRequired: boolean) => {
    if (places.has(argument)) throw new Error(`the tool ${name} has two parameters ${argument}`)
    places.set(argument, place)
    properties[argument] = schema
    if (isRequired) required.push(argument)
  }
  const parameters = operation.parameters ?? []
  for (const { name: its, in: where, required: isRequired = false, description, schema } of parameters) {
    const argument = where === 'header' ? headerParameters[its] : its
    if (argument === undefined || without.includes(its) || (effect === 'read' && where === 'header')) continue
    add(argument, { in: where as Place['in'], name: its }, { ...schema, ...(description !== undefined && { description }) }, isRequired)
  }
  const body = operation.requestBody?.content['application/json'].schema
  if (body) {
    const record = resolved(body, schemas)
    const needed = (record.required ?? []) as string[]
    for (const [member, schema] of Object.entries((record.properties ?? {}) as Record<string, Schema>))
      add(member, { in: 'body', name: member }, schema, needed.includes(member))
  }
  const is_asynchronous = parameters.some(({ name: its }) => its === 'Prefer')
  const words = [`${operation.summary}.`, operation.description, more, effect === 'motion' && 'A person has to confirm each call.']
  const definitions = definitionsOf(properties, schemas)
  return {
    ...{ name, title: title ?? operation.summary, description: words.filter(Boolean).join(' '), effect, scope: operation['x-scope'] },
    input: {
      type: 'object',
      properties: withLocalRefs(properties) as Schema,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    },
    ...{ method: method.toUpperCase(), path, places, is_asynchronous },
  }
}

function resolved(schema: Schema, schemas: Record<string, Schema>): Schema {
  const { $ref } = schema
  return typeof $ref === 'string' ? (schemas[$ref.slice(refAt.length)] ?? {}) : schema
}

/** Returns the named schemas that a schema leads to. */
function definitionsOf(schema: unknown, schemas: Record<string, Schema>): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [keyword, part] of Object.entries(value)) {
      const name = keyword === '$ref' && typeof part === 'string' && part.startsWith(refAt) ? part.slice(refAt.length) : undefined
      if (name === undefined) visit(part)
      else if (!(name in found)) {
        found[name] = {}
        visit(schemas[name])
        found[name] = withLocalRefs(schemas[name])
      }
    }
  }
  visit(schema)
  return found
}

function withLocalRefs(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(`"${refAt}`, '"#/$defs/'))
}

/** Makes the request of a call. Throws with a sentence for arguments that the tool does not take; the route checks their values. */
export function requestOf(tool: Tool, args: Readonly<Record<string, unknown>>): Request {
  const parts: Record<Place['in'], Map<string, unknown>> = { path: new Map(), query: new Map(), header: new Map(), body: new Map() }
  for (const [argument, value] of Object.entries(args)) {
    const place = tool.places.get(argument)
    // A stop is not refused for what does not matter.
    if (!place && tool.effect === 'stop') continue
    if (!place)
      throw new Error(`${tool.name} has no parameter ${JSON.stringify(argument)}; it takes ${[...tool.places.keys()].join(', ') || 'none'}`)
    parts[place.in].set(place.name, place.in === 'body' ? value : wordIn(tool, argument, value))
  }
  if (operationsOfPeople.has(String(parts.body.get('operation'))))
    throw new Error(
      `${parts.body.get('operation')} needs a person who watches the device, so it is no tool; do it on the page of the bench`,
    )
  const path = tool.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = parts.path.get(name)
    if (value === undefined) throw new Error(`${tool.name} needs the parameter ${name}`)
    return partOfPath(tool, name, String(value))
  })
  const query = new URLSearchParams([...parts.query].map(([name, value]): [string, string] => [name, String(value)])).toString()
  const headers = Object.fromEntries([...parts.header].map(([name, value]) => [name, headerIn(tool, name, String(value))]))
  const isSent = tool.method !== 'GET' && tool.method !== 'DELETE'
  return {
    method: tool.method,
    path: query ? `${path}?${query}` : path,
    ...(isSent && { body: Object.fromEntries(parts.body) }),
    headers: { ...headers, ...(tool.is_asynchronous && { Prefer: 'respond-async' }) },
  }
}

function wordIn({ name }: Tool, argument: string, value: unknown): string {
  if (['string', 'number', 'boolean'].includes(typeof value)) return String(value)
  throw new Error(`${argument} of ${name} must be a text or a number`)
}

/** Encodes a part of a path. A dot segment would lead to another route, so it is refused. */
function partOfPath({ name: tool }: Tool, name: string, value: string): string {
  if (value === '' || value.length > 512 || /^\.{1,2}$/.test(value)) throw new Error(`${name} of ${tool} is no id`)
  try {
    return encodeURIComponent(value)
  } catch (error) {
    throw new Error(`${name} of ${tool} is no text in Unicode: ${messageOf(error)}`)
  }
}

function headerIn({ name: tool }: Tool, name: string, value: string): string {
  if (/^[\x20-\x7e]{1,256}$/.test(value)) return value
  throw new Error(`${name} of ${tool} must be 1 to 256 characters of ASCII`)
}

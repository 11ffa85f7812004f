// Checks the headers of answers against the OpenAPI document.

import { readFileSync } from 'node:fs'

type Documented = { headers?: Record<string, unknown> }
type Operation = { operationId: string; responses: Record<string, Documented & { $ref?: string }> }
const document = JSON.parse(readFileSync(new URL('../http/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, Documented> }
}
const operations = new Map(Object.values(document.paths).flatMap((path) => Object.values(path).map((one) => [one.operationId, one])))

/** Headers that every answer of HTTP may have. */
const usual = new Set(['content-type', 'content-length', 'cache-control'])

/** Throws for an operation that the OpenAPI document of this build does not have, and for a header that it does not name for this status. */
export function mustBeDocumented(operation_id: string, { status, headers }: { status: number; headers: Headers }): void {
  const operation = operations.get(operation_id)
  if (!operation)
    throw new Error(
      `the OpenAPI document of this build has no operation ${operation_id}, because the routes are newer; run: npm run generate && npm run build`,
    )
  const { responses } = operation
  const named = responses[status] ?? responses.default!
  const { headers: known = {} } = named.$ref ? document.components.responses[named.$ref.split('/').at(-1)!]! : named
  const names = new Set(Object.keys(known).map((name) => name.toLowerCase()))
  const others = [...headers.keys()].filter((name) => !names.has(name) && !usual.has(name))
  if (others.length) throw new Error(`${operation_id} ${status} has headers that the OpenAPI document does not name: ${others.join(', ')}`)
}

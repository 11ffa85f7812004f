// The part of the Python client that is made from the routes: the operations and readings of devices, and what each reason is raised as.

import { operations } from '../../src/devices/operations.ts'
import { readings } from '../../src/devices/reading_table.ts'
import type { Document } from './typescript.ts'

const begin = '# --- made by `npm run generate` from the table of operations ---\n'
const end = '# --- end of what is made ---\n'

/** By `X-Reason`; the others follow from the status. */
const errors = {
  Busy: ['busy', 'in_progress', 'overloaded', 'stopping', 'request_timeout'],
  Locked: ['locked'],
  DeviceFailed: ['disconnected', 'no_reply', 'device_failed', 'stop_not_sent', 'faulted', 'internal', 'storage'],
}

const path = /^\/api\/devices\/\{device_id\}\/(\w+)$/
type Body = {
  properties?: Record<string, { type?: string | string[]; description?: string; 'x-unit'?: string }>
  required?: string[]
  $ref?: string
}

/** The client with its made part anew. Throws where the marks are not in the text. */
export function withOperations(client: string, { paths, components }: Document): string {
  const [head, rest] = client.split(begin)
  const tail = rest?.split(end)[1]
  if (head === undefined || tail === undefined) throw new Error('the Python client has no marks for what is made')
  const found = Object.entries(paths).flatMap(([its, methods]) => {
    const name = path.exec(its)?.[1]
    const { post } = methods
    if (!name || !post || !Object.hasOwn(operations, name) || name === 'stop') return []
    const schema = (post.requestBody?.content?.['application/json']?.schema ?? {}) as Body
    const body = (schema.$ref ? components.schemas[schema.$ref.split('/').at(-1)!] : schema) as Body
    return [{ name, summary: post.summary, body }]
  })
  const asked = Object.entries(readings)
  const stubs = [
    ...found.map(({ name, summary, body }) => stub(name, summary, body)),
    ...asked.map(([name, { summary }]) => `        def ${name}(self) -> Dict[str, Any]:\n            """${summary}."""\n            ...\n`),
  ]
  const kinds = Object.entries(errors).flatMap(([kind, reasons]) => reasons.map((reason) => `    "${reason}": ${kind},\n`))
  const made = [
    '\nOPERATIONS: Dict[str, str] = {\n',
    ...found.map(({ name, summary }) => `    "${name}": ${JSON.stringify(summary)},\n`),
    '}\n\nREADINGS: Dict[str, str] = {\n',
    ...asked.map(([name, { summary }]) => `    "${name}": ${JSON.stringify(summary)},\n`),
    '}\n\n_ERRORS: Dict[str, type] = {\n',
    ...kinds,
    '}\n\nif TYPE_CHECKING:\n\n    class _DeviceOperations:\n        """`start` of an operation returns without waiting for its end."""\n\n',
    stubs.join('\n'),
    '\n',
  ].join('')
  return `${head}${begin}${made}${end}${tail}`
}

function stub(name: string, summary: string, { properties = {}, required = [] }: Body): string {
  const params = Object.entries(properties).map(([its, { type }]) => {
    const [word = '', ...others] = [type ?? []].flat()
    // The lists in the table of operations are lists of records.
    const plain = { number: 'float', integer: 'int', boolean: 'bool', string: 'str', array: 'List[Dict[str, Any]]' }[word] ?? 'Any'
    const kind = others.includes('null') ? `Optional[${plain}]` : plain
    return required.includes(its) ? `${its}: ${kind}` : `${its}: Optional[${kind}] = None`
  })
  const units = Object.entries(properties).flatMap(([its, { 'x-unit': unit }]) => (unit ? [`${its} in ${unit}`] : []))
  const signature = ['self', ...(params.length ? ['*', ...params] : [])].join(', ')
  const doc = `${summary}${units.length ? `; ${units.join(', ')}` : ''}.`
  const methods = [
    `            def __call__(${signature}) -> Dict[str, Any]:\n                """${doc}"""\n                ...\n`,
    `            def start(${signature}) -> "Operation": ...\n`,
  ]
  return `        class _${name}:\n${methods.join('\n')}\n        ${name}: _${name}\n`
}

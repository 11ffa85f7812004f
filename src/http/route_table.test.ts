// The table of routes in README.md: it names each route, and the parameters by which something is found.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { openapi } from './openapi.ts'
import { routes } from './routes.ts'

const readme = readFileSync(fileURLToPath(new URL('../../../src/http/README.md', import.meta.url)), 'utf8')
const table = readme.slice(readme.indexOf('## Routes'))
const { paths } = openapi(routes) as { paths: Record<string, Record<string, { parameters?: { in: string; name: string }[] }>> }

test('the table names the last word of the path of each route', (t) => {
  const last = (path: string) => path.split('/').findLast((part) => part !== '' && !part.startsWith('{')) ?? ''
  t.same(
    Object.keys(paths).filter((path) => !table.includes(last(path))),
    [],
  )
  t.end()
})

test('the table names each parameter of the routes that find something', (t) => {
  for (const path of ['/api/executions', '/api/operations', '/api/labware/{barcode}/history', '/api/system/audit']) {
    const from = table.indexOf(`${path}?`)
    const query = table.slice(from, table.indexOf('`', from))
    const names = (paths[path]?.get?.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => `${name}=`)
    t.ok(names.length > 0, path)
    t.same(
      names.filter((name) => !query.includes(name)),
      [],
      path,
    )
  }
  t.end()
})

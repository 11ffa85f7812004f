// The shape of the flow for Node-RED. `scripts/contract/node_red.ts` runs the flow.

import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { openapi } from '../../http/openapi.ts'
import { routes } from '../../http/routes.ts'

type Node = {
  id: string
  type: string
  z?: string
  /** Empty where the file has none. */
  name: string
  disabled?: boolean
  wires?: string[][]
  scope?: string[]
  func?: string
  outputs?: number
  broker?: string
  senderr?: boolean
}

const source = readFileSync(new URL('../../../../src/clients/recipes/node_red_flow.json', import.meta.url), 'utf8')
const nodes = (JSON.parse(source) as Node[]).map((node) => ({ ...node, name: node.name ?? '' }))
const byId = new Map(nodes.map((node) => [node.id, node]))
const named = (name: string) => nodes.find((node) => node.name === name)!
const after = ({ wires = [] }: Node) => wires.flat().map((id) => byId.get(id)!)

/** Node-RED 4 brings these. */
const core = ['catch', 'comment', 'debug', 'delay', 'function', 'http request', 'inject', 'mqtt in', 'mqtt-broker', 'rbe', 'tab']

test('each node is of Node-RED itself, and each wire leads to a node of the same tab', (t) => {
  t.equal(byId.size, nodes.length)
  for (const node of nodes) {
    t.ok(core.includes(node.type), node.type)
    if (node.z) t.equal(byId.get(node.z)?.type, 'tab', node.name)
    for (const id of [...(node.wires ?? []).flat(), ...(node.scope ?? [])]) t.equal(byId.get(id)?.z, node.z, `${node.name}: ${id}`)
    if (node.type === 'function') t.equal(node.wires?.length, node.outputs, node.name)
    if (node.type === 'mqtt in') t.equal(byId.get(node.broker!)?.type, 'mqtt-broker')
  }
  t.end()
})

test('a function is JavaScript, and each request has its errors caught', (t) => {
  for (const { type, name, func = '' } of nodes) {
    if (type === 'function') t.doesNotThrow(() => new Function('msg', 'node', 'flow', 'env', func), name)
  }
  const caught = nodes.flatMap(({ scope = [] }) => scope)
  for (const node of nodes.filter(({ type, func }) => type === 'http request' || func?.includes('node.error('))) {
    t.ok(caught.includes(node.id), node.name)
    if (node.type === 'http request') t.equal(node.senderr, true, `${node.name} sends errors to its catch node only`)
  }
  t.end()
})

test('there is neither a key nor an address in the flow', (t) => {
  t.notMatch(source, /bk_|https?:|\d+\.\d+\.\d+\.\d+|credentials|localhost/)
  const brokers = nodes.filter(({ type }) => type === 'mqtt-broker')
  t.match(brokers, [{ broker: /^\$\{BENCHD_MQTT_HOST\}$/, port: /^\$\{BENCHD_MQTT_PORT\}$/ }])
  t.same(
    nodes.filter(({ type }) => type === 'tab').map(({ disabled }) => disabled),
    [false, true],
    'HTTP works alone',
  )
  t.end()
})

test('each path is one of the API', (t) => {
  const { paths } = openapi(routes) as { paths: Record<string, Record<string, unknown>> }
  const templates = new Set(
    Object.entries(paths).flatMap(([path, of]) => Object.keys(of).map((method) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)),
  )
  const asked: string[] = []
  for (const { func = '', name } of nodes) {
    const methods = [...func.matchAll(/method(?: =|:) '(\w+)'/g)].map(([, method]) => method!.toLowerCase())
    const urls = [...func.matchAll(/url(?: =|:) `\$\{bench\}([^`?]+)/g)].map(([, path]) => path!.replace(/\$\{[^}]*\}/g, '{}'))
    t.equal(methods.length, urls.length, name)
    for (const [index, url] of urls.entries()) asked.push(`${methods[index]} ${url}`)
  }
  t.same(
    asked.filter((one) => !templates.has(one)),
    [],
  )
  const devices = ['get /api/devices', 'get /api/devices/{}', 'post /api/devices/{}/perform']
  t.same(asked.sort(), [...devices, 'get /api/operations/{}', 'get /events', 'post /api/stop'].sort())
  t.end()
})

test('nothing stands before the request of a stop', (t) => {
  const [prepare, ...others] = after(named('Stop every device'))
  const [request] = after(prepare!)
  t.same(others, [])
  t.equal(prepare?.type, 'function')
  t.equal(request?.type, 'http request')
  const before = (node: Node) => nodes.filter((other) => after(other).includes(node)).map(({ name }) => name)
  t.same(before(prepare!), ['Stop every device', 'try again or tell it'])
  t.same(before(request!), [prepare?.name])
  t.end()
})

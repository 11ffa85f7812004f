// systemd/grafana-dashboard.json, held against what /metrics tells.

import { test } from 'tap'
import { readShipped } from '../kit/shipped.ts'
import { openTestBench } from '../testing/http.ts'

type Place = { x: number; y: number; w: number; h: number }
type Target = { refId: string; expr: string; datasource: { type: string; uid: string } }
type Panel = { id: number; type: string; title: string; gridPos: Place; targets?: Target[]; datasource?: object }
type Dashboard = {
  title: string
  uid: string
  schemaVersion: number
  templating: { list: { name: string; type: string; query: unknown }[] }
  panels: Panel[]
}

const file = new URL('../../../systemd/grafana-dashboard.json', import.meta.url)
const dashboard = JSON.parse(new TextDecoder().decode(await readShipped(file))) as Dashboard
const { panels } = dashboard
const shown = panels.filter(({ type }) => type !== 'row')

test('every metric and label of the dashboard is in /metrics, and every metric is on the dashboard', async (t) => {
  const { ask } = await openTestBench(t)
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize')).status, 200)
  const { text } = await ask('GET', '/metrics', { key: 'read' })
  const there = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name))
  const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].map(([, name = '', type = '']) => [name, type]))
  const expressions = shown.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const named = new Set(expressions.flatMap((expr) => expr.match(/benchd_\w+/g) ?? []))
  t.same(
    [...named].filter((name) => !there.has(name)),
    [],
  )
  t.same(
    [...there].filter((name) => !named.has(name)),
    [],
  )
  for (const [, name = ''] of expressions.join('\n').matchAll(/(?:rate|increase)\((\w+)\{/g)) t.equal(types.get(name), 'counter', name)
  const states = new Set([...text.matchAll(/^benchd_device_state\{.*state="(\w+)"/gm)].map(([, state]) => state))
  for (const [, asked = ''] of expressions.join('\n').matchAll(/\bstate=~?"([\w|]+)"/g))
    for (const state of asked.split('|')) t.ok(states.has(state), state)
})

test('it has the form that Grafana imports: a data source to choose, and panels that do not overlap', async (t) => {
  t.match(dashboard, { title: 'benchd', uid: /^[\w-]{1,40}$/, schemaVersion: Number })
  t.notOk('id' in dashboard, 'an id belongs to one Grafana')
  t.match(
    dashboard.templating.list.find(({ type }) => type === 'datasource'),
    { name: 'datasource', query: 'prometheus' },
  )
  const ids = panels.map(({ id }) => id)
  t.same(ids, [...new Set(ids)])
  for (const { type, title, targets = [], datasource } of shown) {
    t.match(type, /^(timeseries|stat|state-timeline)$/, title)
    t.ok(targets.length > 0, title)
    for (const source of [datasource, ...targets.map((target) => target.datasource)])
      t.same(source, { type: 'prometheus', uid: '$' + '{datasource}' }, title)
    for (const { expr } of targets) t.match(expr, /\{instance=~"\$instance"/, title)
    t.same(new Set(targets.map(({ refId }) => refId)).size, targets.length, title)
  }
  const cells = panels.flatMap(({ gridPos }) => cellsOf(gridPos))
  t.equal(new Set(cells).size, cells.length)
  t.ok(panels.every(({ gridPos: { x, w } }) => x >= 0 && x + w <= 24))
})

function cellsOf({ x, y, w, h }: Place): string[] {
  return Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`)
}

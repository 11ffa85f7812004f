// What runs on a bench is the bundle: the tests of everything else run on what it is made of.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { bundled } from './cli/testing.ts'

const folder = fileURLToPath(new URL('../bundle/', import.meta.url))

const stepInCode = `
  import { workflow } from 'benchd/workflow'
  export default workflow({
    format: 1, name: 'waits', topology: 'demo', labware: { plate: { type: '96-well', kind: 'plate' } },
    methods: { wait: [{ do: 'shake', on: 'shaker-1', labware: ['plate'], with: { speed: 300, duration: 1 } }] },
    threads: { plate: { labware: 'plate', start: { at: 'pad_1', mode: 'MANUAL_PLACE' }, end: { at: ['pad_1'], mode: 'MANUAL_REMOVE' }, steps: [{ method: 'wait' }] } },
    start: ['plate'] })`

test('the bundle serves devices, pages, workflows and those written in TypeScript', async (t) => {
  const home = t.testdir({ topologies: { 'waits.ts': stepInCode } })
  const service = bundled(t, home, ['demo', '--port', '0', '--data-dir', `${home}/data`, '--topologies', `${home}/topologies`])
  const url = await service.line(/^ +API +(http:\/\/[\d.]+:\d+)/)
  const key = await service.line(/^ +key +(bk_\S+)/)
  service.child.stdout.resume()
  const ask = async (path: string, method = 'GET') => fetch(url + path, { method, headers: { 'X-API-Key': key } })

  t.equal((await ask('/api/devices/shaker-1/initialize', 'POST')).status, 200)
  for (const page of ['/', '/page.js', '/docs', '/openapi.json']) t.equal((await ask(page)).status, 200, page)
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  t.match(await (await ask('/api/system')).json(), { version })
  const { workflows, faults } = (await (await ask('/api/workflows')).json()) as { workflows: { name: string }[]; faults: object[] }
  t.same(faults, [])
  t.ok(workflows.some(({ name }) => name === 'waits'))
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0, stderr: '' })
})

test('the service has a file of its own, and each driver another', (t) => {
  const drivers = readdirSync(folder).filter((name) => /^driver\d*\.js$/.test(name))
  t.ok(drivers.length >= 14, `${drivers.length} files of drivers`)
  const service = readFileSync(`${folder}service.js`, 'latin1')
  t.ok(
    [...service].every((letter) => letter <= '~'),
    'in letters of one byte',
  )
  t.notOk(/\b(class|var) (Execution|Runtime)\b/.test(service), 'without the workflows')
  t.end()
})

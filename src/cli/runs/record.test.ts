// Values, readings, the report and files of a run, at a service whose answers are written here.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { benchd } from '../../testing/cli.ts'

const execution_id = '7b1c2d3e-0000-4000-8000-000000000000'
const content = 'well,absorbance\r\nA1,0.25\r\n'
const sha256 = createHash('sha256').update(content).digest('hex')
const about = { at: 1, labware: 'plate', device_id: 'reader-1', unit: null }
const file = (name: string, hash: string) => ({ at: 1, name, bytes: content.length, sha256: hash, by: 'me', note: null })

async function served(t: Test) {
  const home = t.testdir({})
  const answers: Record<string, { json?: object; text?: string }> = {
    '/values': {
      json: {
        values: [
          { ...about, name: 'absorbance', value: [0.25, 0.45] },
          { ...about, name: 'image', sha256, bytes: 5000 },
          { ...about, name: 'mass', value: -1.5, unit: 'mg' },
        ],
        damaged: 2,
      },
      text: 'at,name\r\n1,absorbance\r\n',
    },
    '/readings': {
      json: {
        readings: [
          { at: 1, device_id: 'incubator-1', values: { temperature: 36.9, humidity: 80 }, targets: { temperature: 37 }, why: 'start' },
        ],
        damaged: 0,
      },
    },
    '/report': { text: '<!doctype html>' },
    '/files': { json: { files: [file('a.csv', sha256), file('b.csv', 'ab'.repeat(32)), file('b.csv', 'cd'.repeat(32))] } },
    [`/files/${sha256}`]: { text: content },
    [`/files/${'ab'.repeat(32)}`]: { text: content },
  }
  const server = createServer(({ url = '', headers }, response) => {
    const { json, text } = answers[url.replace(`/api/executions/${execution_id}`, '')] ?? {}
    const isText = json === undefined || headers.accept === 'text/csv'
    response.end(isText ? text : JSON.stringify(json))
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = (command: string, ...more: string[]) =>
    benchd(home, ['runs', command, execution_id, ...more, '--url', url, '--key', 'bk_any'])
  return { home, run }
}

test('values and readings are printed as a table, JSON or CSV, and a record that is not whole is told', async (t) => {
  const { run } = await served(t)
  const values = await run('values')
  t.match(values, { code: 0, stderr: /the record is not whole: 2 of its lines are not as they were written/ })
  t.match(values.stdout, /plate +reader-1 +absorbance +\[0\.25,0\.45\]\n.* image +\(5000 bytes\)\n.* mass +-1\.5 +mg\n/)
  t.match(JSON.parse((await run('values', '--json')).stdout), { values: [{ name: 'absorbance' }, {}, {}], damaged: 2 })
  t.equal((await run('values', '--csv')).stdout, 'at,name\r\n1,absorbance\r\n')
  const readings = await run('readings')
  t.match(readings, { code: 0, stderr: '' })
  t.match(readings.stdout, /incubator-1 +temperature +36\.9 +37 +start\n.* humidity +80 +start\n/)
})

test('the report and a file are saved whole, never over another file, and a file only with its hash', async (t) => {
  const { home, run } = await served(t)
  t.match(await run('report', '--to', home), { code: 0, stdout: `${home}/report-7b1c2d3e.html\n` })
  t.equal(readFileSync(`${home}/report-7b1c2d3e.html`, 'utf8'), '<!doctype html>')
  t.match(await run('report', '--to', home), { code: 5, stderr: /is there already; name another file/ })
  t.match(await run('download', sha256.slice(0, 6), '--to', home), { code: 0, stdout: `${home}/a.csv\n` })
  t.equal(readFileSync(`${home}/a.csv`, 'utf8'), content)
  t.match(await run('download', 'b.csv'), { code: 2, stderr: /b\.csv can mean 2 files: abababab, cdcdcdcd; write one of these hashes/ })
  t.match(await run('download', 'c.csv'), { code: 3, stderr: /the run has no file "c\.csv"; see: benchd runs files ID/ })
  t.match(await run('download', 'abab', '--to', `${home}/b.csv`), {
    code: 1,
    stderr: /the file did not arrive as it was attached; try again/,
  })
  t.same(
    readdirSync(home).filter((name) => /csv|html|tmp/.test(name)),
    ['a.csv', 'report-7b1c2d3e.html'],
  )
})

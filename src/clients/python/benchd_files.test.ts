// Files of runs with the clients: attached, listed, and saved as they were.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { demoTeachpoints } from '../../examples/demo_bench.ts'
import { openService } from '../../testing/http.ts'
import { printed, withPython } from '../../testing/python.ts'
import { Bench } from '../ts/benchd.ts'

const content = Buffer.from('Probe;Absorption\nA1;0,25 µ\n'.repeat(10_000))
const sha256 = createHash('sha256').update(content).digest('hex')

async function withRun(t: Test) {
  const folder = t.testdirName
  const { url, secrets, ask, bench } = await openService(t)
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' } })
  const { execution_id } = body as { execution_id: string }
  writeFileSync(`${folder}/export µ.csv`, content)
  return { url, secrets, execution_id, folder }
}

withPython('a program attaches a file to its run, once, and saves it again', async (t) => {
  const { url, secrets, execution_id, folder } = await withRun(t)
  const said = await printed(
    t,
    { url, key: secrets.operate },
    `
run = bench.run("${execution_id}")
path = "${folder}/export µ.csv"
row = run.attach(path, labware="plate", note="by a program")
say(row["sha256"], run.attach(path, labware="plate", note="by a program") == row)
say([[one["name"], one["media_type"], one["labware"], one["note"]] for one in run.files()])
run.download(row["sha256"], "${folder}/again.csv")
for wrong in (lambda: run.attach(path, labware="nothing"), lambda: run.download("0" * 64, "${folder}/no.csv")):
    try: wrong()
    except BenchError as error: say(error.reason, error.status)
`,
  )
  t.same(said.slice(0, 3), [sha256, true, [['export µ.csv', 'text/csv', 'plate', 'by a program']]])
  t.same(said.slice(3), ['not_found', 404, 'not_found', 404])
  t.same(readFileSync(`${folder}/again.csv`), content)
})

test('the client for TypeScript sends a Blob as it is, and tells the whole name of a download', async (t) => {
  const { url, secrets, execution_id } = await withRun(t)
  const bench = new Bench({ url, key: secrets.operate })
  const body = new Blob([content], { type: 'text/csv' })
  const row = await bench.call('attachFile', { path: { execution_id }, query: { name: 'export µ.csv' }, body })
  t.match(row, { sha256, media_type: 'text/csv', name: 'export µ.csv' })
  const { name, content: saved } = await bench.download('fetchFile', { path: { execution_id, file_sha256: sha256 } })
  t.equal(name, 'export µ.csv')
  t.same(Buffer.from(await saved.arrayBuffer()), content)
})

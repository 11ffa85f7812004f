// `benchd runs export` and `runs verify`, on the demo's bench.

import { createHash } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { benchd, demo } from '../../testing/cli.ts'
import { exportInto, path, record, whole } from '../../testing/exported_run.ts'
import { crateFaults } from '../../testing/ro_crate.ts'

const names = [
  ...[
    'conditions.csv',
    'decisions.csv',
    'events.jsonl',
    'manifest-sha256.txt',
    'manifest.json',
    'readings.csv',
    'record.jsonl',
    'report.html',
  ],
  ...['ro-crate-metadata.json', 'timeline.csv', 'topology.json', 'values.csv', 'workflow.json'],
]

test('a run is exported as an RO-Crate that a check finds whole, and in which it finds every change', async (t) => {
  const { home, run, json } = await demo(t)
  const submitted = await run('runs', 'submit', 'seal-and-spin', '--mode', 'DEVICE_SIM', '--operator', 'ann', '--follow')
  const id = submitted.stdout.split('\n')[0]!
  const folder = `${home}/exported`
  const {
    path: where,
    sha256,
    files,
  } = await json<{ path: string; sha256: string; files: number }>('runs', 'export', id.slice(0, 8), '--to', folder)
  t.equal(where, folder)
  t.same(readdirSync(folder).sort(), names)
  t.same(
    readdirSync(home).filter((name) => name.endsWith('.tmp')),
    [],
  )
  t.equal(files, names.length)
  t.same(await crateFaults(folder), [])
  const text = (name: string) => readFileSync(`${folder}/${name}`, 'utf8')
  t.equal(createHash('sha256').update(text('manifest-sha256.txt')).digest('hex'), sha256)
  const timeline = text('timeline.csv').split('\r\n')
  t.match(timeline[0], /^kind,labware,barcode,group_id,thread_name,name,method_name,device_id,from,to,transporter,/)
  t.match(timeline[1], /^move,plate,,,plate,,,,pad_1,shaker_in,arm-1,/)
  t.ok(timeline.some((line) => /^action,plate,,,plate,shake,/.test(line)))
  const manifest = JSON.parse(text('manifest.json'))
  t.match(manifest, { execution: { execution_id: id, workflow_name: 'seal-and-spin', run_mode: 'DEVICE_SIM' }, damaged: 0, missing: [] })
  t.match(
    manifest.tables['timeline.csv'].columns.find(({ name }: { name: string }) => name === 'started'),
    { unit: 's' },
  )
  t.match(JSON.parse(text('workflow.json')), { name: 'seal-and-spin' })
  t.match(JSON.parse(text('topology.json')), { name: 'demo' })
  t.match(text('events.jsonl'), /EXECUTION\..*COMPLETED/)
  t.match(text('report.html'), /The run ended COMPLETED/)
  t.match(JSON.parse(text('ro-crate-metadata.json'))['@graph'], [{}, { '@id': './', identifier: id }])

  const verify = (...more: string[]) => benchd(home, ['runs', 'verify', folder, ...more])
  t.match(await verify(), {
    code: 0,
    stderr: '',
    stdout: new RegExp(`12 files and \\d+ rows of the record are as they were exported\nSHA-256 .*: ${sha256}`),
  })
  t.match(await verify('--sha256', sha256), { code: 0 })
  t.match(await verify('--sha256', 'ab'), { code: 1, stdout: /the list of files is not the one of the export/ })
  const record = text('record.jsonl')
  writeFileSync(`${folder}/record.jsonl`, record.replace('"pad_1"', '"pad_2"'))
  rmSync(`${folder}/workflow.json`)
  writeFileSync(`${folder}/more.txt`, 'more')
  const found = await verify()
  t.match(found, { code: 1, stderr: /is not as it was exported: 4 faults/ })
  t.same(found.stdout.trim().split('\n'), [
    'record.jsonl was changed after the export',
    'workflow.json is missing',
    'more.txt was not in the export',
    found.stdout.trim().split('\n')[3]!,
  ])
  t.match(found.stdout, /record\.jsonl: 1 line was damaged after the export; \d+ are as the bench wrote them/)

  // Somebody who makes a new list is betrayed by the checksums of the record, by the metadata, or by the SHA-256 of the list.
  const list = text('manifest-sha256.txt')
  const hashOf = (name: string) => createHash('sha256').update(text(name)).digest('hex')
  writeFileSync(`${folder}/manifest-sha256.txt`, list.replace(/^.{64}(?= {2}record\.jsonl)/m, hashOf('record.jsonl')))
  t.match((await verify()).stdout, /ro-crate-metadata\.json says another SHA-256 of record\.jsonl than manifest-sha256\.txt/)
  appendFileSync(`${folder}/manifest-sha256.txt`, 'nothing\n')
  t.match(await verify(), { code: 1, stdout: /line 13 is not a SHA-256 and a name/ })
  t.match(await benchd(home, ['runs', 'verify', home]), {
    code: 3,
    stderr: /has no manifest-sha256\.txt, so it is no exported run/,
  })
  t.match(await run('runs', 'export', id, '--to', folder), { code: 5, stderr: /is there already; name another folder/ })
})

test('a run without a record is not exported, and nothing is left of the attempt', async (t) => {
  const { home, run } = await demo(t)
  const submitted = await run('runs', 'submit', 'seal-and-spin', '--mode', 'PURE_SIM', '--follow')
  const before = readdirSync(home)
  t.match(await run('runs', 'export', submitted.stdout.split('\n')[0]!, '--to', `${home}/none`), {
    code: 3,
    stderr: /PURE_SIM executions keep none/,
  })
  t.same(readdirSync(home), before)
})

test('a record that was damaged on the bench is no fault of the folder, and the check says so', async (t) => {
  const home = t.testdir({})
  const answers = { ...whole, [`${path}/record.jsonl`]: record.replace('pad_1', 'pad_9') }
  const { folder } = await exportInto(`${home}/run`, answers)
  const words = /\nrecord\.jsonl: 1 line was damaged on the bench before the export\n/
  t.match(await benchd(home, ['runs', 'verify', folder]), { code: 0, stderr: '', stdout: words })
  const { code, stdout } = await benchd(home, ['runs', 'verify', folder, '--json'])
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { is_whole: true, faults: [], faults_before_export: [/before the export$/], record: { damaged: 1 } })
  const file = `${folder}/record.jsonl`
  writeFileSync(file, readFileSync(file, 'utf8').replace('"to":"pad_2"', '"to":"pad_8"'))
  t.match(await benchd(home, ['runs', 'verify', folder]), { code: 1, stdout: /1 line was damaged after the export/ })
})

// Versions of workflows and topologies over the API: who changed what, how versions differ, which of them a run ran.

import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { makeBackup } from '../care/backup.ts'
import { openBackup, planOf, restore } from '../care/restore.ts'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { noTypeScript } from '../kit/modules.test.typescript.ts'
import { standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'
import { type Body, bodyOf, until } from '../testing/http_runs.ts'

const shakes = (speed: number, more: object = {}) =>
  workflowOf(
    'just-shake',
    { plate: { ...standing('pad_1'), steps: [{ method: 'shake_it' }] } },
    {
      topology: 'demo',
      variables: { speed: { default: speed } },
      methods: { shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: { variable: 'speed' }, duration: 5 } }] },
      ...more,
    },
  )
const path = '/api/workflows/just-shake'

type Listed = { versions: Body[] }
const versionsOf = ({ ask }: Pick<TestedBench, 'ask'>, at = path) => bodyOf(ask('GET', `${at}/versions`)) as Promise<Listed>

/** Opens a bench on a data folder beside which there is room for others. */
async function opened(t: Test, layout: object = {}): Promise<TestedBench & { topologies: string }> {
  const top = t.testdir({ data: {}, topologies: {}, ...layout })
  const topologies = join(top, 'topologies')
  return { ...(await openTestBench(t, {}, { folder: join(top, 'data'), topologies })), topologies }
}

/** Opens a bench on a copy of a data folder, as a power cut at this moment would have left it. */
async function afterPowerCut(t: Test, { data_dir }: Pick<TestedBench, 'data_dir'>): Promise<TestedBench> {
  const folder = join(t.testdirName, `copy-${Math.random()}`)
  cpSync(data_dir, folder, { recursive: true, filter: (name) => !/\.sock$|\/lock$/.test(name) })
  return openTestBench(t, {}, { folder })
}

/** Runs the workflow by the clock alone, to its end. */
async function ran(bench: TestedBench, workflow: string, run_mode = 'PURE_SIM'): Promise<string> {
  const { status, body, text } = await bench.ask('POST', '/api/submissions', { json: { workflow, run_mode } })
  if (status !== 202) throw new Error(text)
  const { execution_id } = body as { execution_id: string }
  await until(bench, `/api/executions/${execution_id}`, ({ status }) => status !== 'IN_PROGRESS')
  return execution_id
}

test('each upload that differs is a version, with its author and note; restore makes an old one new', async (t) => {
  const bench = await opened(t)
  const { ask } = bench
  const headers = { 'X-Operator': 'Ann' }
  t.match((await ask('PUT', `${path}?note=as%20agreed`, { json: shakes(400), headers })).body, { version: 1 })
  t.match((await ask('PUT', path, { json: { ...shakes(400), overtaking: undefined } })).body, { version: 1 })
  t.match((await ask('PUT', path, { json: shakes(600) })).body, { version: 2 })
  t.match(await versionsOf(bench), {
    versions: [
      { version: 2, source: 'api', by: 'admin' },
      { version: 1, note: 'as agreed', operator: 'Ann', at: Number },
    ],
  })
  t.match(await bodyOf(ask('GET', `${path}/versions/1`)), { version: 1, document: shakes(400), text: null })
  t.match(await bodyOf(ask('GET', `${path}/diff`)), {
    ...{ from: 1, to: 2, is_same: false },
    changes: [
      { place: 'variables.speed.default', change: 'changed', before: 400, after: 600, text: 'variables.speed.default: 400 -> 600' },
    ],
  })
  t.match(await bodyOf(ask('GET', `${path}/diff?from=2&to=1`)), { changes: [{ before: 600, after: 400 }] })
  t.match((await ask('POST', `${path}/versions/1/restore`, { json: {} })).body, { version: 3, variables: { speed: { default: 400 } } })
  t.match((await versionsOf(bench)).versions[0], { version: 3, restored_from: 1, note: 'version 1 again', by: 'admin' })
  isRefusal(t, await ask('GET', `${path}/versions/9`), 404)
  isRefusal(t, await ask('GET', `${path}/versions/x`), 400)
  isRefusal(t, await ask('GET', '/api/workflows/just-shak/versions'), 404)
  isRefusal(t, await ask('POST', `${path}/versions/1/restore`, { json: {}, key: 'operate' }), 403)
  t.same(await versionsOf(await afterPowerCut(t, bench)), await versionsOf(bench), 'they are on the disk when they are answered')
})

test('a document is compared before it is put: a third method and step is told as such, and comments and defaults are not', async (t) => {
  const { ask } = await opened(t)
  await ask('PUT', path, { json: shakes(400) })
  const steps = [{ method: 'shake_it' }, { method: 'spin_it' }]
  const more = {
    ...shakes(400),
    $schema: 'https://example.org/workflow.schema.json',
    overtaking: undefined,
    methods: { ...shakes(400).methods, spin_it: [{ do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 } }] },
    threads: { plate: { ...shakes(400).threads.plate, immovable: false, steps } },
  }
  const { changes } = (await bodyOf(ask('POST', `${path}/diff`, { json: more }))) as { changes: { text: string }[] }
  t.same(
    changes.map(({ text }) => text),
    ['methods.spin_it: added', 'threads.plate.steps: spin_it added after shake_it'],
  )
  t.match(await bodyOf(ask('POST', `${path}/diff`, { json: shakes(400) })), { is_same: true, changes: [] })
  isRefusal(t, await ask('GET', `${path}/diff`), 409)
})

test('a workflow that was deleted keeps its history, and a record shows the document that ran', async (t) => {
  const bench = await opened(t)
  const { ask } = bench
  await ask('PUT', path, { json: shakes(400) })
  const execution_id = await ran(bench, 'just-shake')
  const run = `/api/executions/${execution_id}`
  t.match(await bodyOf(ask('GET', run)), { workflow_version: 1, submissions: [{ workflow_version: 1 }] })
  await ask('PUT', path, { json: shakes(600) })
  t.match((await ask('DELETE', path)).body, { success: true })
  t.match((await versionsOf(bench)).versions, [{ version: 2, deleted: { by: 'admin' } }, { version: 1 }])
  const shown = {
    execution_id,
    name: 'just-shake',
    workflow_version: 1,
    topology: 'demo',
    document: { variables: { speed: { default: 400 } } },
  }
  t.match(await bodyOf(ask('GET', `${run}/workflow`)), { ...shown, topology_document: { name: 'demo' } })
  const later = await afterPowerCut(t, bench)
  t.match(await bodyOf(later.ask('GET', `${run}/workflow`)), shown, 'a run in PURE_SIM has no record: the version has its document')
  t.match((await later.ask('POST', `${path}/versions/1/restore`, { json: { note: 'back' } })).body, { version: 3 })
  t.match((await versionsOf(later)).versions, [{ version: 3, note: 'back', restored_from: 1 }, { version: 2, deleted: {} }, {}])
  t.equal((await later.ask('GET', path)).status, 200)
})

test('the run of an example makes a version of it, and names it, also in its record', async (t) => {
  const bench = await opened(t)
  const { ask } = bench
  t.same(await versionsOf(bench, '/api/workflows/seal-and-spin'), { name: 'seal-and-spin', versions: [] })
  await bench.bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  const execution_id = await ran(bench, 'seal-and-spin', 'DEVICE_SIM')
  t.match(await versionsOf(bench, '/api/workflows/seal-and-spin'), { versions: [{ version: 1, source: 'example', by: null }] })
  const { rows } = (await bodyOf(ask('GET', `/api/executions/${execution_id}/record`))) as { rows: Body[] }
  t.match(rows[0], { kind: 'submission', workflow_version: 1, topology_version: 1 })
  const later = await afterPowerCut(t, bench)
  t.match(await bodyOf(later.ask('GET', `/api/executions/${execution_id}`)), { workflow_version: 1, topology_version: 1 })
  t.match(await bodyOf(later.ask('GET', `/api/executions/${execution_id}/workflow`)), {
    document: { name: 'seal-and-spin' },
    workflow_version: 1,
  })
  t.match((await later.ask('GET', `/api/executions/${execution_id}/report`)).text, /seal-and-spin \(version 1, SHA-256 /)
})

test('a data folder of a version before has its documents as version 1 after the start', async (t) => {
  const bench = await opened(t)
  await bench.ask('PUT', path, { json: shakes(400) })
  const folder = join(t.testdirName, 'older')
  cpSync(bench.data_dir, folder, {
    recursive: true,
    filter: (name) => !/\.sock$|\/lock$|\/versions/.test(name.slice(bench.data_dir.length)),
  })
  t.notOk(readdirSync(folder).some((name) => name.startsWith('versions')))
  const later = await openTestBench(t, {}, { folder })
  t.match(await versionsOf(later), { versions: [{ version: 1, by: null, source: 'api' }] })
  t.match(await bodyOf(later.ask('GET', `${path}/versions/1`)), { document: shakes(400) })
})

test('an upload that was cut off before its version was listed has one after the start; one that was cut off before it was stored has none', async (t) => {
  const bench = await opened(t)
  await bench.ask('PUT', path, { json: shakes(400) })
  const before = join(t.testdirName, 'before')
  cpSync(bench.data_dir, before, { recursive: true, filter: (name) => !/\.sock$|\/lock$/.test(name) })
  await bench.ask('PUT', path, { json: shakes(600) })
  // The files in the order in which a put writes them.
  const steps = [[], ['versions'], ['versions', 'workflows.json'], ['versions', 'workflows.json', 'versions.jsonl']]
  for (const [i, files] of steps.entries()) {
    const folder = join(t.testdirName, `cut-${i}`)
    cpSync(before, folder, { recursive: true })
    for (const name of files) cpSync(join(bench.data_dir, name), join(folder, name), { recursive: true })
    const cut = await openTestBench(t, {}, { folder })
    const { versions } = await versionsOf(cut)
    const { variables } = await bodyOf(cut.ask('GET', path))
    const isNew = files.includes('workflows.json')
    t.match(variables, { speed: { default: isNew ? 600 : 400 } }, `after ${files}`)
    t.same(
      versions.map(({ version }) => version),
      isNew ? [2, 1] : [1],
    )
    for (const { version } of versions)
      t.match(await bodyOf(cut.ask('GET', `${path}/versions/${version}`)), { document: shakes(version === 2 ? 600 : 400) })
  }
})

test('a changed file of the topologies folder is a version at the reload, and is restored there', { skip: noTypeScript }, async (t) => {
  const code = (words: string) => `import { words } from './lib/words.ts'
export default { ...${JSON.stringify({ ...shakes(400), name: 'coded' })}, on: { 'WORKFLOW.COMPLETED': [() => words + '${words}'] } }`
  const files = { lib: { 'words.ts': `export const words = 'a'` }, 'coded.ts': code('one') }
  const bench = await opened(t, { topologies: files })
  const { ask, topologies } = bench
  const at = '/api/workflows/coded'
  const first = await bodyOf(ask('GET', '/api/topologies'))
  t.match(first, { faults: [] })
  const reload = async () => t.equal((await ask('POST', '/api/system/reload', { json: {} })).status, 200)
  await reload()
  t.match((await versionsOf(bench, at)).versions, [{ version: 1, source: 'file', file: 'coded.ts', form: 'typescript', by: null }])
  writeFileSync(join(topologies, 'coded.ts'), code('two'))
  await reload()
  writeFileSync(join(topologies, 'lib/words.ts'), `export const words = 'b'`)
  await reload()
  t.match((await versionsOf(bench, at)).versions, [{ version: 3 }, { version: 2 }, { version: 1 }])
  t.match(await bodyOf(ask('GET', `${at}/versions/1`)), { text: code('one'), helpers: { 'lib/words.ts': /^[0-9a-f]{64}$/ } })
  const { text_changes } = (await bodyOf(ask('GET', `${at}/diff?from=1&to=2`))) as { text_changes: string[] }
  t.match(text_changes, [/^-2: .*'one'/, /^\+2: .*'two'/])
  t.match(await bodyOf(ask('GET', `${at}/diff`)), { text_changes: [/^the imported file lib\/words.ts has changed/] })
  const refused = await ask('POST', `${at}/versions/1/restore`, { json: {} })
  isRefusal(t, refused, 409)
  t.match(refused.text, /copy its text into coded.ts/)
})

test('topologies have versions as well; the answer to a restore names the file to change', async (t) => {
  const topology = (more: object) => ({
    ...{ format: 1, name: 'bare', transporters: { 'arm-1': { positions: ['pad_1', 'pad_2'] } } },
    positions: { pad_1: {}, pad_2: more },
  })
  const bench = await opened(t, { topologies: { 'bare.json': JSON.stringify(topology({})) } })
  const { topologies } = bench
  writeFileSync(join(topologies, 'bare.json'), JSON.stringify(topology({ parking: true })))
  await bench.ask('POST', '/api/system/reload', { json: {} })
  const at = '/api/topologies/bare'
  t.match(await versionsOf(bench, at), { versions: [{ version: 2, file: 'bare.json' }, { version: 1 }] })
  t.match(await bodyOf(bench.ask('GET', `${at}/diff`)), { changes: [{ text: 'positions.pad_2.parking: false -> true' }] })
  t.match(await bodyOf(bench.ask('POST', `${at}/diff`, { json: topology({}) })), {
    changes: [{ text: 'positions.pad_2.parking: true -> false' }],
  })
  const refused = await bench.ask('POST', `${at}/versions/1/restore`, { json: {} })
  isRefusal(t, refused, 409)
  t.match(refused.text, /bare\.json/)
  rmSync(join(topologies, 'bare.json'))
  await bench.ask('POST', '/api/system/reload', { json: {} })
  t.match(await versionsOf(bench, at), { versions: [{ version: 2 }, { version: 1 }] }, 'a file that is gone keeps its history')
})

test('a backup has the versions with their documents', async (t) => {
  const { ask, data_dir } = await opened(t)
  await ask('PUT', path, { json: shakes(400) })
  const sources = { data_dir, config: undefined, topologies: undefined, version: '1', system_id: 's' }
  const backup = join(data_dir, '..', 'backup.tar.gz')
  const { files, left_out } = await makeBackup(sources, { with_keys: false, with_events: false }, { path: backup, at: new Date() })
  const names = files.map(({ name }) => name)
  t.ok(names.includes('state/versions.jsonl'))
  t.equal(names.filter((name) => /^state\/versions\/[0-9a-f]{64}$/.test(name)).length, 1)
  t.notMatch(left_out.join(), 'versions')
})

test('a restore brings the versions back, with their documents, and old ones can be put again', async (t) => {
  const { ask, data_dir } = await opened(t)
  for (const speed of [400, 600]) await ask('PUT', path, { json: shakes(speed), headers: { 'X-Operator': 'Ada' } })
  const top = join(data_dir, '..')
  const sources = { data_dir, config: undefined, topologies: undefined, version: '1', system_id: 's' }
  const wanted = { with_keys: false, with_events: false }
  await makeBackup(sources, wanted, { path: join(top, 'backup.tar.gz'), at: new Date() })
  const backup = await openBackup(join(top, 'backup.tar.gz'))
  const there = join(top, 'there')
  mkdirSync(there)
  await restore(backup, there, await planOf(backup, there, { all: false, keys: false }), new Date())
  await backup.archive.close()
  const other = await openTestBench(t, {}, { folder: there })
  const { versions } = await versionsOf(other)
  t.match(versions, [
    { version: 2, operator: 'Ada' },
    { version: 1, operator: 'Ada' },
  ])
  t.match(await bodyOf(other.ask('GET', `${path}/versions/1`)), { document: { variables: { speed: { default: 400 } } } })
  t.match(await other.ask('POST', `${path}/versions/1/restore`, { json: {} }), { status: 200 })
  t.match(await versionsOf(other), { versions: [{ version: 3 }, { version: 2 }, { version: 1 }] })
  t.match(await bodyOf(other.ask('GET', path)), { document: { variables: { speed: { default: 400 } } } })
})

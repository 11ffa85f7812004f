// Exports of a service whose answers are written here: long values, attached files, and rows of every kind.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { type Test, test } from 'tap'
import { NewFolder } from '../../../kit/new_folder.ts'
import { execution_id, executionOf, plateOf, recordText, rowsOfRun } from '../../../testing/records.ts'
import { crateFaults } from '../../../testing/ro_crate.ts'
import { checkFolder, faultsOf, isWhole } from './checked_run.ts'
import { type Exported, fillFolder, type Source } from './exported_run.ts'

const path = `/api/executions/${execution_id}`
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const long = JSON.stringify({ wells: { 10: 1, A1: 0.5 } })
const csv = 'well;od\r\nA1;0,5\r\n'
const [longHash, csvHash] = [hashOf(long), hashOf(csv)]

const record = recordText([
  ...rowsOfRun(1),
  { kind: 'value', at: 1_769_850_050, name: 'plate', ...plateOf(1), unit: null, shape: null, sha256: longHash, bytes: long.length },
  ...[csvHash, csvHash].map((sha256) => ({
    kind: 'file',
    at: 1_769_850_300,
    name: '../../my plate.csv',
    media_type: 'text/csv',
    sha256,
  })),
])

const whole: Record<string, string> = {
  [path]: JSON.stringify(executionOf),
  [`${path}/record.jsonl`]: record,
  [`${path}/report`]: '<!doctype html>',
  [`${path}/values/${longHash}`]: JSON.stringify({ value: JSON.parse(long) }),
  [`${path}/files/${csvHash}`]: csv,
  '/events': JSON.stringify({ events: [{ event_name: 'EXECUTION.e.COMPLETED' }], next_since: 1 }),
}

/** Exports from a service with these answers. */
async function exported(t: Test, answers: Record<string, string> = whole): Promise<{ folder: string; made: Exported }> {
  const textAt = (path: string) => answers[path.split('?')[0]!]
  const source: Source = {
    json: async <Answer>(path: string) => JSON.parse(textAt(path)!) as Answer,
    content: async (path: string) => Readable.from([Buffer.from(textAt(path)!)]),
    contentIfThere: async (path: string) => (textAt(path) === undefined ? undefined : source.content(path)),
  }
  const folder = await NewFolder.begin(`${t.testdir({})}/run`)
  const made = await fillFolder({ source, path, folder })
  return { folder: await folder.finish(), made }
}

test('long values and files are exported by name and hash, each once; one that is gone is named', async (t) => {
  const { folder, made } = await exported(t)
  const text = (name: string) => readFileSync(`${folder}/${name}`, 'utf8')
  const name = `files/${csvHash.slice(0, 12)}-my_plate.csv`
  t.equal(text(`values/${longHash}.json`), long)
  t.equal(text(name), csv)
  t.match(made.missing, ['files/cdcdcdcdcdcd-plate.csv is not in the export: the service no longer has it'])
  t.equal(made.missing.length, 1)
  t.same(await crateFaults(folder), [])
  const checked = await checkFolder(folder)
  t.ok(isWhole(checked), faultsOf(checked).join())
  t.equal(checked.record.rows, record.trim().split('\n').length)
  t.match(JSON.parse(text('manifest.json')), {
    time_zone: 'Europe/Zurich',
    missing: made.missing,
    readings: { 'shaker-1': { temperature: '°C' } },
  })
})

test('the tables have times in the zone of the bench, units and targets', async (t) => {
  const { folder } = await exported(t)
  const lines = (name: string) => readFileSync(`${folder}/${name}`, 'utf8').split('\r\n')
  t.same(lines('readings.csv').slice(0, 3), [
    'at,time,device_id,name,value,unit,target,why,action_id',
    '1769850030,2026-01-31T10:00:30.000+01:00,shaker-1,temperature,36.9,°C,37,start,',
    '1769850030,2026-01-31T10:00:30.000+01:00,shaker-1,speed,500,rpm,,start,',
  ])
  t.match(lines('values.csv')[1], /^1769850050,2026-01-31T10:00:50.000\+01:00,absorbance,"\[0.25,0.45\]",AU,\[2\],plate-1,P1,g1,/)
  t.match(lines('values.csv')[2], new RegExp(`,values/${longHash}.json,${longHash},`))
  const decisions = lines('decisions.csv').map((line) => line.split(',').slice(2, 6).join())
  t.same(decisions.slice(1, -1), [
    'incident,,,motor blocked',
    'decision,ann,retry,Retried shake of plate-1 on shaker-1',
    'window_missed,,,',
    'note,ben,,Foil was wrinkled',
  ])
})

test('the metadata names the run, the people, the devices and the software', async (t) => {
  const { folder } = await exported(t)
  const { '@graph': graph } = JSON.parse(readFileSync(`${folder}/ro-crate-metadata.json`, 'utf8')) as { '@graph': { '@id': string }[] }
  const of = (id: string) => graph.find(({ '@id': its }) => its === id)
  t.match(of('#run'), {
    '@type': 'CreateAction',
    endTime: '2026-01-31T10:11:40.000+01:00',
    agent: [{ '@id': '#by-lab%20key' }, { '@id': '#by-ann' }],
  })
  t.match(of('#device-shaker-1'), {
    '@type': 'IndividualProduct',
    model: 'Q1',
    serialNumber: 'SN-42',
    description: 'shaker, driver bioshake, firmware 1.8.03',
  })
  t.match(of('#benchd-1.2.3'), { '@type': 'SoftwareApplication', version: '1.2.3' })
  t.match(of('./'), { keywords: 'pilot, screen 7' })
})

test('what the service changed on the way is told', async (t) => {
  const { made } = await exported(t, { ...whole, [`${path}/files/${csvHash}`]: 'other' })
  t.match(made.missing[1], /my_plate\.csv is not as it was recorded: its SHA-256 was /)
  const { made: damaged, folder } = await exported(t, { ...whole, [`${path}/record.jsonl`]: record.replace('pad_1', 'pad_9') })
  t.equal(damaged.damaged, 1)
  t.same(faultsOf(await checkFolder(folder)).length, 1)
})

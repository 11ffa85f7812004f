// Exports of a service whose answers are written in the test: long values, attached files, and rows of every kind.

import { readFileSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { csv, csvHash, exportInto, long, longHash, path, record, whole } from '../../../testing/exported_run.ts'
import { recordText } from '../../../testing/records.ts'
import { crateFaults } from '../../../testing/ro_crate.ts'
import { checkFolder, earlierFaultsOf, faultsOf, isWhole } from './checked_run.ts'

const exported = (t: Test, answers?: Record<string, string>) => exportInto(`${t.testdir({})}/run`, answers)

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
    agent: [{ '@id': '#key-lab%20key' }, { '@id': '#operator-ann' }],
  })
  t.match(of('#key-lab%20key'), { '@type': 'Thing', name: 'lab key', description: /^The API key lab key, .* is not recorded/ })
  t.match(of('#operator-ann'), { '@type': 'Person', name: 'ann' })
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
})

test('lines that were damaged on the bench before the export are told, and are no fault of the folder; further ones are', async (t) => {
  const { made, folder } = await exported(t, { ...whole, [`${path}/record.jsonl`]: record.replace('pad_1', 'pad_9') })
  t.equal(made.damaged, 1)
  const checked = await checkFolder(folder)
  t.ok(isWhole(checked), faultsOf(checked).join())
  t.same(earlierFaultsOf(checked), ['record.jsonl: 1 line was damaged on the bench before the export'])
  t.match(checked.record, { damaged: 1, damaged_before: 1 })
  const file = `${folder}/record.jsonl`
  writeFileSync(file, readFileSync(file, 'utf8').replace('"to":"pad_2"', '"to":"pad_8"'))
  const changed = await checkFolder(folder)
  t.notOk(isWhole(changed))
  t.match(faultsOf(changed), ['record.jsonl was changed after the export', /^record\.jsonl: 1 line was damaged after the export/])
  t.equal(earlierFaultsOf(changed).length, 1)
  t.same(earlierFaultsOf(await checkFolder((await exported(t)).folder)), [])
})

test('the table of decisions says what the record lacks', async (t) => {
  const lack = recordText([{ kind: 'rows_left_out', at: 1_769_850_400, of: 'readings', why: 'disk' }])
  const { folder } = await exported(t, { ...whole, [`${path}/record.jsonl`]: record + lack })
  t.match(
    readFileSync(`${folder}/decisions.csv`, 'utf8'),
    /rows_left_out,,,Rows of the kind readings are not in the record until the disk took rows again\./,
  )
})

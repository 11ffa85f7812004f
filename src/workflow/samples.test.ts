// Sheets of samples as spreadsheets and programs write them, and their mistakes.

import { test } from 'tap'
import { compiled } from '../testing/plans.ts'
import { checkSamples, sampleTemplate, withSamples } from './samples.ts'
import type { Samples, SubmissionBody } from './state/submission_request.ts'

const variables = {
  speed: { type: 'integer', unit: 'rpm', minimum: 200, maximum: 4000, default: 500 },
  temperature: { type: 'number', unit: '°C', example: 165.5 },
  label: { type: 'string', default: '' },
  dry: { type: 'boolean', default: false },
  wells: { type: 'array', default: [] },
}
const workflow = compiled({
  workflow: (d) => {
    d.variables = variables
    d.methods.shake_it[0].with = { speed: { variable: 'speed' }, duration: 5 }
    d.methods.shake_it[0].on = 'shaker-1'
    d.methods.wash[0].with = { temperature: { variable: 'temperature' } }
  },
})
const check = (samples: Samples, given = {}) => checkSamples(workflow, samples, given)
const sentences = (samples: Samples, given = {}) => check(samples, given).mistakes.list.map(({ message }) => message)

const two = [
  { group_id: 'A1', members: { plate: { barcode: 'P-001' } }, variables: { speed: 800, temperature: 165.5, label: 'x, "y"' } },
  { group_id: 'A2', members: { plate: { barcode: '0123' } }, variables: { temperature: 160, label: 'ä; z' } },
]

test('a sheet of any spreadsheet and program gives the same groups', async (t) => {
  const sheets: Record<string, Samples> = {
    'CSV of LibreOffice': 'group,barcode,speed,temperature,label\nA1,P-001,800,165.5,"x, ""y"""\nA2,0123,,160,ä; z\n',
    'CSV of Excel in German, with columns and rows that were emptied':
      '\uFEFFgroup;barcode;speed;temperature;label;;\r\nA1;P-001;800;165,5;"x, ""y""";;\r\n;;;;;;\r\nA2;0123;;160;"ä; z";;\r\n;;;;;;\r\n',
    'CSV of Excel that names its separator':
      'sep=;\r\ngroup;barcode;speed;temperature;label\r\nA1;P-001;800;165,5;"x, ""y"""\r\nA2;0123;;160;"ä; z"\r\n',
    'cells from the clipboard': '\r\ngroup\tbarcode\tspeed\ttemperature\tlabel\r\nA1\tP-001\t800\t165,5\tx, "y"\r\nA2\t0123\t\t160\tä; z',
    'headers in another case and order, with units and spaces':
      'Label , SPEED [rpm],Temperature (°C), Plate.Barcode,Group\n"x, ""y""", 800 rpm,165.5 °C, P-001 ,A1\nä; z,,160,0123,A2',
    'DataFrame.to_csv with its index': ',group,barcode,speed,temperature,label\n0,A1,P-001,800.0,165.5,"x, ""y"""\n1,A2,0123,,160.0,ä; z\n',
    'DataFrame.to_dict': [
      { group: 'A1', barcode: 'P-001', speed: 800, temperature: 165.5, label: 'x, "y"' },
      { group: 'A2', barcode: '0123', temperature: 160, label: 'ä; z', speed: null },
    ],
  }
  for (const [name, sheet] of Object.entries(sheets)) {
    t.same(sentences(sheet), [], name)
    t.same(check(sheet).groups, two, name)
  }
})

test('groups are numbered where nobody names them, and labware has a place of its own', async (t) => {
  const { groups, mistakes } = check(
    'plate.at,tips.at,tips.barcode,variables.temperature,dry,wells\npad_2,rack,,160,WAHR,"A1, B2"\n,rack,T-1,161,no,[1]\n',
  )
  t.same(mistakes.list, [])
  t.same(groups, [
    {
      group_id: 'g1',
      members: { plate: { location: 'pad_2' }, tips: { pool: 'rack' } },
      variables: { temperature: 160, dry: true, wells: ['A1', 'B2'] },
    },
    { group_id: 'g2', members: { tips: { location: 'rack', barcode: 'T-1' } }, variables: { temperature: 161, dry: false, wells: [1] } },
  ])
  t.same(check([{ barcode: 12345, temperature: 160, label: 7 }]).groups, [
    { group_id: 'g1', members: { plate: { barcode: '12345' } }, variables: { temperature: 160, label: '7' } },
  ])
})

test('all mistakes are told at once, each with the row and the column of the spreadsheet', async (t) => {
  const sheet = [
    'group,barcode,speed,temperature,dry,weight,plate.at',
    'A1,P-1,9000,165,maybe,1,pad_1',
    '',
    'A 2,P-2,500.5,,TRUE,,pad_9',
    'A1,P-1,fast,250,,,',
    'A4,1.23457E+12,3500,160,,,,left over',
  ].join('\n')
  t.strictSame(sentences(sheet), [
    'row 1, column F (weight): workflow seal-and-spin has no variable weight; there is: group, barcode, plate.barcode, plate.at, tips.barcode, tips.at, speed, temperature, label, dry, wells',
    'row 1, column H: there are values in this column, and it has no header; give it one, or empty it',
    'row 2, column C (speed): speed is 9000 rpm, and must be at most 4000 rpm',
    'row 2, column E (dry): dry must be true or false, not "maybe"',
    'row 4, column A (group): "A 2" must be 1 to 64 letters, digits, hyphens and underscores',
    'row 4, column C (speed): speed must be a whole number, not 500.5',
    'row 4, column D (temperature): the cell is empty, and temperature has no default',
    'row 4, column G (plate.at): there is no place pad_9; did you mean "pad_1"?',
    'row 5, column A (group): the group A1 is in row 2 too; a row is a group',
    'row 5, column B (barcode): the barcode P-1 is in row 2 too; labware with a barcode exists once',
    'row 5, column C (speed): speed must be a number, not "fast"',
    'row 6, column B (barcode): 1.23457E+12 is a barcode that was shortened as a number; format the column as text, and enter the barcode again',
    'row 6, column C (speed): speed does not fit: shake: speed 3500 rpm is outside what shaker-1 takes: 200 to 3000 rpm',
  ])
  const [first] = check([{ speed: 1, temperature: 160 }]).mistakes.list
  t.same(first, { row: 2, column: 'A', header: 'speed', message: 'samples[0], speed: speed is 1 rpm, and must be at least 200 rpm' })
  t.match(sentences('barcode\nP-1'), [
    'row 1: there is no column temperature, which has no default; add it, or give its value for the whole submission',
  ])
  t.same(sentences('barcode\nP-1', { temperature: 160 }), [])
})

test('a number that may be a thousand times as much is refused, unless other numbers show the decimal separator', async (t) => {
  t.match(sentences('temperature;speed\n160;1.500'), [
    /speed is 1\.500: nobody knows whether that is a thousand times as much; write it as 1500/,
  ])
  t.same(
    check('temperature\tspeed\n160.5\t1,500').mistakes.list[0]?.message,
    'row 2, column B (speed): speed is 1,500, and numbers of this sheet have a decimal point; write it in the same way',
  )
  t.match(sentences('temperature;speed\n160,5;1.500'), [/speed is 1\.500, and numbers of this sheet have a decimal comma/])
  t.same(check('temperature;speed\n160,500;500\n150,5;500').groups[0]?.variables, { temperature: 160.5, speed: 500 })
  t.match(sentences('temperature,speed\n"160,5",500'), [/temperature is 160,5, and numbers of this sheet have a decimal point/])
})

test('a header with several meanings, another unit, or twice, is refused with the headers to write', async (t) => {
  const twice = compiled({
    workflow: (d) => {
      d.variables = { barcode: {}, group: {} }
    },
  })
  t.strictSame(
    checkSamples(twice, 'barcode,group\nP-1,a', {}).mistakes.list.map(({ message }) => message),
    [
      'row 1, column A (barcode): it may be plate.barcode or variables.barcode; write one of these as the header',
      'row 1, column B (group): it may be group_id or variables.group; write one of these as the header',
    ],
  )
  t.same(checkSamples(twice, 'plate.barcode,group_id,variables.group\nP-1,a,b', {}).groups, [
    { group_id: 'a', members: { plate: { barcode: 'P-1' } }, variables: { group: 'b' } },
  ])
  t.match(sentences('temperature [K]\n400'), [/column A \(temperature \[K\]\): the column is in K, and the variable temperature is in °C/])
  t.match(sentences('temperature,Temperature\n160,160'), [
    'row 1, column B (Temperature): this header is that of column A too; leave one of them out',
  ])
})

test('mistakes and sheets have bounds', async (t) => {
  const { mistakes } = check(`temperature\n${'warm\n'.repeat(300)}`)
  t.same([mistakes.list.length, mistakes.leftOut], [100, 200])
  t.match(sentences(`temperature\n${'160\n'.repeat(1001)}`), [
    'there are 1001 rows, and a submission takes 1000; submit the others in another sheet',
  ])
  t.match(sentences(''), ['there is no row with a sample; the first row is the header, and each further row a sample'])
  t.match(sentences('barcode\n"P-1'), ['line 2: a quote is not closed'])
  t.equal(check(`temperature\n${'160\n'.repeat(1000)}`).groups.length, 1000)
})

test('a text that cannot be read as rows has that mistake alone', async (t) => {
  t.same(sentences('barcode\n"P-1'), ['line 2: a quote is not closed'])
  t.same(sentences('barcode,temperature\nP-1,"160'), ['line 2: a quote is not closed'])
  t.same(sentences('PK\u0003\u0004\u0014\u0000\u0006\u0000,\n\u0000"x'), [
    'this is a workbook or an archive, and no text; save the sheet as CSV UTF-8, or copy its cells',
  ])
})

test('a request with a wrong sheet is refused as a whole', async (t) => {
  const body = {
    workflow: 'seal-and-spin',
    run_mode: 'PURE_SIM',
    groups: [],
    batch_mode: 'STANDALONE',
    variables: {},
    operator_id: null,
  } as const
  const asked = (more: Partial<SubmissionBody>) => () => withSamples(workflow, { ...body, groups: [], ...more })
  t.throws(asked({ samples: 'temperature\nwarm\ncold' }), {
    code: 'invalid',
    message:
      'samples: 2 mistakes: row 2, column A (temperature): temperature must be a number, not "warm"; row 3, column A (temperature): temperature must be a number, not "cold"',
    mistakes: [{ row: 2, column: 'A' }, { row: 3 }],
  })
  t.throws(asked({ samples: `temperature\n${'warm\n'.repeat(99)}` }), { message: /^samples: 99 mistakes: .*; and 96 more$/ })
  t.throws(asked({ samples: 'temperature\n160', groups: [{ group_id: 'a', members: {} }] }), { message: /give either samples or groups/ })
  t.throws(asked({ samples: 'speed\n500' }), { message: /there is no column temperature/ })
  t.same(
    asked({ samples: 'speed\n500', batch_mode: 'JOIN_EXISTING' })().groups[0]?.variables,
    { speed: 500 },
    'the run that it joins may have the value',
  )
  t.same(asked({ samples: 'temperature\n160' })().groups, [{ group_id: 'g1', members: {}, variables: { temperature: 160 } }])
})

test('the sheet to fill in has the right header, and is right itself', async (t) => {
  t.equal(sampleTemplate(workflow), 'group,barcode,speed,temperature,label,dry,wells\r\ng1,,500,165.5,,false,[]\r\n')
  t.same(sentences(sampleTemplate(workflow)), [])
})

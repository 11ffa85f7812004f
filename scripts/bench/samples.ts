// `npm run bench -- samples`: how long a sheet of samples takes to be checked, beside the CSV alone.

import { parseCsv } from '../../src/kit/csv_reader.ts'
import { compiled } from '../../src/testing/plans.ts'
import { checkSamples } from '../../src/workflow/samples.ts'
import { bench, median, row } from './bench.ts'

const workflow = compiled({
  workflow: (document) => {
    document.variables = {
      speed: { type: 'integer', unit: 'rpm', minimum: 200, maximum: 3000 },
      duration: { type: 'integer', unit: 's' },
      volume: { type: 'number', unit: 'µl', minimum: 0 },
    }
    document.methods.shake_it[0].on = 'shaker-1'
    document.methods.shake_it[0].with = { speed: { variable: 'speed' }, duration: { variable: 'duration' } }
    document.methods.wash[0].with = { volume: { variable: 'volume' } }
  },
})

/** Each cell has a value of its own, so that nothing is known from another row. */
function sheetOf(rows: number, turn: number): string {
  const lines = Array.from({ length: rows }, (_, i) => `G${i};P-${turn}-${i};${300 + ((i + turn) % 2000)};${5 + i};${i + turn},5`)
  return ['group;barcode;speed;duration;volume', ...lines].join('\r\n')
}

function measured(rows: number, turns: number, work: (sheet: string) => unknown): number[] {
  return Array.from({ length: turns }, (_, turn) => {
    const sheet = sheetOf(rows, turn)
    const began = performance.now()
    work(sheet)
    return performance.now() - began
  })
}

export const samples = bench({
  name: 'samples',
  summary: 'a sheet of 96 samples with three variables is checked',
  limit: 'for a row: 96 rows',
  options: { rows: 96, many: 960, turns: 30 },
  async run({ rows, many, turns }) {
    const check = (sheet: string) => {
      const { mistakes, groups } = checkSamples(workflow, sheet, {})
      if (!mistakes.isEmpty || groups.length === 0) throw new Error(mistakes.list[0]?.message)
    }
    const [first = 0, ...later] = measured(rows, turns, check)
    const [usual, large] = [median(later), median(measured(many, turns, check))]
    const plain = median(measured(rows, turns, (sheet) => parseCsv(sheet, 'samples')))
    return [
      row(`${rows} rows, the first of the process`, 'ms', first, { target: { of: 'value', most: 50, wall: true } }),
      row(`${rows} rows`, 'ms', usual, { target: { of: 'value', most: 50, wall: true } }),
      row(`the CSV of ${rows} rows alone`, 'ms', plain),
      row(`a row of ${many}`, 'us', (large / many) * 1000, { limit: (usual / rows) * 1000, target: { of: 'ratio', most: 1.5 } }),
    ]
  },
})

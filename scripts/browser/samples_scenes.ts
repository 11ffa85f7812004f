// Samples of a new run from a spreadsheet, on each size of screen.

import assert from 'node:assert/strict'
import { phone, small, widthOf } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

export const samplesChecks: Record<string, Check> = {
  async 'samples are pasted from a spreadsheet: mistakes stand at their cells, and the run begins with the right ones'(bench) {
    const page = await bench.open('/#/runs/new', small)
    await page.getByLabel('Workflow', { exact: true }).selectOption('seal-and-spin')
    await page.getByLabel('Mode').selectOption('DEVICE_SIM')
    await page.getByText('Paste from a spreadsheet').click()
    const field = page.getByLabel('Samples, with the header in the first row')
    const start = page.getByRole('button', { name: 'Start run', exact: true })
    await field.fill('group\tbarcode\tspeed\nA1\tP-1\tfast\nA2\tP-1\t600\n')
    await page.getByText('2 mistakes; nothing can start.').waitFor()
    const preview = page.getByRole('region', { name: 'Preview of the samples' })
    await preview.getByRole('cell', { name: '▲ fast' }).waitFor()
    await page.getByText('row 3, column B (barcode): the barcode P-1 is in row 2 too; labware with a barcode exists once').waitFor()
    assert.ok(await start.isDisabled(), 'nothing starts')
    assert.deepEqual([await findingsOf(page), await smallTargets(page)], [[], []])
    for (const size of [phone, { width: 640, height: 400 }, small]) {
      await page.setViewportSize(size)
      assert.ok((await widthOf(page)) <= size.width, `the form is wider than ${size.width}`)
    }
    await field.fill('group\tbarcode\tspeed\nA1\tP-1\t700\n')
    await page.getByText('1 sample, without mistakes.').waitFor()
    await start.click()
    const run = page.getByRole('region', { name: 'Run of seal-and-spin' })
    await run.getByText(/completed, /).waitFor()
    await run.getByText('plate P-1: shaking on shaker-1, 700 rpm, 5 s').waitFor()
  },
}

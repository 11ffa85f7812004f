// A device behind which somebody's program stands, on the page: forms, progress and readings come from what the program says of itself.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { makeThrowAwayFolder, removeFolder } from '../../src/kit/folder.ts'
import { bridgeTo, reader, until, writeProgram } from '../../src/testing/bridges.ts'
import { openBench, openForm, pressTwice, seen } from './bench.ts'
import type { Check } from './bench_page.ts'

const wells = { type: 'array', items: { type: 'string' }, default: ['A1'] }
const plate = { type: 'object', properties: { rows: { type: 'integer' } } }
const settings = { operations: { read: { params: { properties: { wells, plate } }, seconds: 1 } } }
const shaped = { device_id: 'reader-1', driver: 'simulated', type: 'reader', transport: { kind: 'simulated' }, settings }

const steps = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`step_${i}`, { seconds: 1 }]))

export const bridgeChecks: Record<string, Check> = {
  async 'the menu of a device with many operations has a search, and its stop stands first'({ complaints }) {
    const bench = await openBench({ devices: [{ ...shaped, settings: { operations: steps } }] })
    try {
      const page = await bench.open('/')
      await page.getByRole('button', { name: 'More of reader-1' }).click()
      const sheet = page.getByRole('dialog')
      await sheet.getByRole('button', { name: 'Initialize' }).click()
      await page.getByRole('button', { name: 'More of reader-1' }).click()
      const search = sheet.getByRole('searchbox', { name: 'Search' })
      await search.fill('step 27')
      await sheet.getByRole('button', { name: 'Step 28', exact: true }).waitFor({ state: 'detached' })
      assert.equal(await sheet.getByRole('button', { name: /^Step 27/ }).count(), 11)
      assert.ok(await sheet.getByRole('button', { name: 'Stop reader-1' }).isVisible())
      await search.fill('centrifuge')
      await sheet.getByText('No operation has these words in its name.').waitFor()
      await search.fill('step 271')
      await sheet.getByRole('button', { name: 'Step 271' }).click()
      await until(async () => {
        const { last_operation } = await bench.ask('GET', '/api/devices/reader-1')
        return (last_operation as { operation: string } | null)?.operation === 'step_271'
      })
      complaints.push(...bench.complaints)
    } finally {
      await bench.close()
    }
  },

  async 'a list is typed with commas, an object as JSON, and a mistake stands beside its field'({ complaints }) {
    const bench = await openBench({ devices: [shaped] })
    try {
      const page = await bench.open('/')
      const card = page.getByRole('article', { name: 'reader-1', exact: true })
      await card.getByRole('button', { name: 'Initialize' }).click()
      const read = await openForm(page, 'reader-1', 'Read')
      await read.getByLabel('wells', { exact: true }).fill('A1, B2')
      await read.getByLabel('plate', { exact: true }).fill('8 rows')
      await read.getByText('plate must be a JSON object such as {"name":1}, not 8 rows').waitFor()
      await read.getByLabel('plate', { exact: true }).fill('{"rows": 8}')
      await read.getByText(/plate must be/).waitFor({ state: 'detached' })
      await read.getByRole('button', { name: 'Start' }).click()
      const { params } = await until(async () => {
        const { last_operation } = await bench.ask('GET', '/api/devices/reader-1')
        const last = last_operation as { operation: string; params: object } | null
        return last?.operation === 'read' ? last : undefined
      })
      assert.deepEqual(params, { wells: ['A1', 'B2'], plate: { rows: 8 } })
      complaints.push(...bench.complaints)
    } finally {
      await bench.close()
    }
  },

  async 'a device of a bridge has its own forms with units and limits, and tells its progress, its readings and the values that it measured'({
    complaints,
  }) {
    const folder = await makeThrowAwayFolder('benchd-bridge')
    const path = writeProgram(folder, reader)
    const bench = await openBench({ devices: [bridgeTo(path, { settings: { halt: 'kill' } })] })
    try {
      const page = await bench.open('/')
      const card = page.getByRole('article', { name: 'reader-1', exact: true })
      await card.getByText(/Example 96/).waitFor()
      await card.getByRole('button', { name: 'Initialize' }).click()
      await card.getByText('ready', { exact: true }).waitFor()
      // The program answers one of its readings with a word, which is no number: the others are there all the same.
      await card.getByText('22.5 °C · pressure 1013.25 mbar, target 1000 mbar').waitFor()
      const read = await openForm(page, 'reader-1', 'Read')
      const wavelength = read.getByLabel('wavelength (nm)', { exact: true })
      await wavelength.fill('200')
      await card.getByRole('button', { name: 'Start' }).click()
      await card.getByText('wavelength (nm) must be from 230 to 1000').waitFor()
      await wavelength.fill('999')
      await card.getByRole('button', { name: 'Start' }).click()
      await seen(card, /Read (was refused|failed): .*the door is open/i)
      await openForm(page, 'reader-1', 'Read')
      await wavelength.fill('450')
      await card.getByRole('button', { name: 'Start' }).click()
      await card.getByText('Values of the last operation').click()
      await card.getByText(/"absorbance": \[\s*0.25,\s+0.45/).waitFor()
      const wait = await openForm(page, 'reader-1', 'Wait')
      await wait.getByLabel('duration', { exact: true }).fill('30')
      await card.getByRole('button', { name: 'Start' }).click()
      await card.getByText('half of it').waitFor()
      await card.getByRole('button', { name: 'Stop', exact: true }).click()
      await card.getByText('stopped', { exact: true }).waitFor()
      // Another version of the program takes less; the stop has ended the one that ran.
      writeFileSync(path, reader.replace('"wavelength": 1000', '"wavelength": 800'))
      await card.getByRole('button', { name: 'Stop', exact: true }).click()
      await card.getByText('disconnected', { exact: true }).waitFor()
      await card.getByText('stopped', { exact: true }).waitFor()
      await card.getByRole('button', { name: 'Initialize' }).click()
      await card.getByText(/describes itself otherwise.*“Accept” of reader-1/).waitFor()
      await pressTwice(card, 'Accept the new description of reader-1')
      await page.getByText(/accepted/i).waitFor()
      await card.getByRole('button', { name: 'Initialize' }).click()
      await card.getByText('ready', { exact: true }).waitFor()
      complaints.push(...bench.complaints)
    } finally {
      await bench.close()
      await removeFolder(folder)
    }
  },
}

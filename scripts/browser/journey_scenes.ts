// The page of a lab, as its coordinator serves it, on a phone: a journey from its beginning to its end, and a bench that fails alone.

import assert from 'node:assert/strict'
import { noPostgres, testLab } from '../../src/testing/lab.ts'
import { launchChromium, seen } from './bench.ts'
import type { Check } from './bench_page.ts'

const checks: Record<string, Check> = {
  async 'on a phone a journey is begun, its tasks are confirmed, and one sees who has the labware; a bench that is away fails alone'({
    complaints,
  }) {
    const ends: (() => unknown)[] = []
    try {
      const lab = await testLab({ teardown: (end) => ends.unshift(end) }, { scale: 16 })
      await lab.coordinator.start()
      const browser = await launchChromium()
      ends.unshift(() => browser.close())
      const stranger = await browser.newPage()
      await stranger.goto(lab.coordinator.url)
      await stranger.getByLabel('API key').fill('bk_wrong')
      await stranger.getByRole('button', { name: 'Connect' }).click()
      await stranger.getByText('This key is wrong, expired or revoked').waitFor()
      assert.equal(await stranger.getByLabel('API key').inputValue(), 'bk_wrong', 'the field keeps what was typed')
      await stranger.getByLabel('API key').fill(lab.coordinator.key)
      await stranger.getByRole('button', { name: 'Connect' }).click()
      await stranger.getByLabel('Barcode of the labware').waitFor()
      await stranger.close()
      const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
      page.on('pageerror', (error) => complaints.push(`lab: ${error.message}`))
      await page.goto(`${lab.coordinator.url}/#k=${lab.coordinator.key}`)
      assert.equal(new URL(page.url()).hash, '', 'the key leaves the address')
      const task = page.getByRole('region', { name: 'Tasks' })
      const place = async (barcode: string) => {
        await task.getByLabel('Barcode that was read of P-7').fill(barcode)
        await task.getByRole('button', { name: 'Placed' }).click()
      }
      await page.getByLabel('Barcode of the labware').fill('P-7')
      await page.getByRole('button', { name: 'Start journey' }).click()
      await page.getByText('The journey of P-7 has begun.').waitFor()
      await place('P-8')
      await page.getByText(/wants the plate with the barcode P-7, and P-8 was read/).waitFor()
      await place('P-7')
      await task.getByText('Take P-7 from out of prep.').waitFor({ timeout: 180_000 })
      await task.getByRole('button', { name: 'Taken' }).click()
      await page.getByText('with anyone').waitFor()
      await lab.prep.kill()
      await seen(page.getByRole('region', { name: 'Benches' }), /the bench prep does not answer/, { timeout: 30_000 })
      await task.getByText('Bring P-7 to in of read.').waitFor()
      await place('P-7')
      await task.getByText(/Take P-7 away from pad_1 of read/).waitFor({ timeout: 180_000 })
      await task.getByRole('button', { name: 'Taken' }).click()
      await page.getByText('taken away').waitFor()
      await page.getByRole('figure', { name: 'Journeys by bench and carrier' }).waitFor()
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page is not wider than the phone')
    } finally {
      for (const end of ends) await end()
    }
  },
}

export const journeyChecks: Record<string, Check> = noPostgres ? {} : checks
/** The checks that cannot run here. */
export const journeySkips: readonly string[] = noPostgres ? Object.keys(checks) : []

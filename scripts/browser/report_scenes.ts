// The report of a run, downloaded on the page and opened as a reviewer would: as a file, with nothing of the bench around it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { recordReport } from '../../src/testing/records.ts'
import { type Bench, button, desk, phone, seen, widthOf } from './bench.ts'
import { type Check, findingsOf } from './bench_page.ts'

/** The width of an A4 page between its margins, in CSS pixels. */
const paper_px = 703

export const reportChecks: Record<string, Check> = {
  async 'the report of a run is downloaded, has no finding of axe, and is not cut on A4'(bench) {
    const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' })
    const page = await bench.open(`/#/runs/${execution_id}`)
    await seen(page.getByRole('region', { name: 'Run of seal-and-spin' }), /completed, Rehearse on simulators/, { timeout: 180_000 })
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download the report').click()])
    assert.equal(download.suggestedFilename(), `report-${String(execution_id).slice(0, 8)}.html`)
    await judge(bench, readFileSync(await download.path(), 'utf8'), /The run ended COMPLETED/)
  },

  async 'a report with faults, decisions, temperatures and 45 plates has no finding of axe, and is not cut on A4'(bench) {
    await judge(bench, await recordReport(45), /Retried shake of plate-1/)
  },
}

async function judge(bench: Bench, report: string, words: RegExp): Promise<void> {
  const served = await serve(report)
  try {
    for (const { width, height } of [desk, phone]) {
      const page = await bench.open('/', { width, height })
      page.removeAllListeners('request')
      // Without the header the policy is that of the report itself, as for a file, and axe may be put beside it.
      await page.goto(served.url)
      await seen(page, words)
      assert.deepEqual(await findingsOf(page), [], `${width}`)
      assert.equal(await page.locator('script, a, img, iframe, link, form').count(), 0)
    }
    await printed(await bench.open('/'), served.url)
  } finally {
    served.close()
  }
}

/** Fails if something of the report is wider than the paper, or may be cut between two pages. */
async function printed(page: Page, url: string): Promise<void> {
  page.removeAllListeners('request')
  await page.setViewportSize({ width: paper_px, height: 1000 })
  await page.emulateMedia({ media: 'print' })
  await page.goto(url)
  assert.ok((await widthOf(page)) <= paper_px, `${await widthOf(page)} px on paper`)
  const cut = await page.evaluate(
    "[...document.querySelectorAll('tr, figure, .signature')].filter((one) => getComputedStyle(one).breakInside !== 'avoid').length",
  )
  assert.equal(cut, 0)
  const heads = await page.evaluate(
    "[...document.querySelectorAll('thead')].every((one) => getComputedStyle(one).display === 'table-header-group')",
  )
  assert.equal(heads, true)
  const tallest = Number(
    await page.evaluate("Math.max(...[...document.querySelectorAll('figure, tr')].map((one) => one.getBoundingClientRect().height))"),
  )
  assert.ok(tallest < 950, `${tallest} px do not fit on a page`)
  const pdf = await page.pdf({ preferCSSPageSize: true })
  assert.ok(pdf.length > 10_000)
}

async function serve(report: string): Promise<{ url: string; close(): void }> {
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html; charset=utf-8').end(report))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() }
}

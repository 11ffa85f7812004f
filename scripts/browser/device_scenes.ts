// The screen of a device: charts, operations, what it can do, its wire log, its note and its photo.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { type Bench, button, card, downloaded, endRuns, goTo, ids, phone, pressTwice, seen, small } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

export const deviceChecks: Record<string, Check> = {
  async 'the charts are fetched only when a device is opened, and the other screens after the first paint'(bench) {
    const page = await bench.open('/')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await card(page, 'shaker-1').waitFor()
    for (const screen of ['runs', 'deck', 'teach', 'events', 'system']) {
      await goTo(page, screen)
      await page.getByRole('main').locator('section').first().waitFor()
    }
    assert.ok(!asked.includes('/device.js'), asked.join(' '))
    await goTo(page, 'devices/shaker-1')
    await page.getByRole('region', { name: 'Device shaker-1' }).waitFor()
    assert.equal(asked.filter((path) => path === '/device.js').length, 1)
  },

  async 'a device says what it did and for whom, what it can do, and what went over the wire'(bench) {
    await readyShaker(bench)
    const headers = { 'X-API-Key': bench.api_key, 'X-Operator': 'Berta' }
    await fetch(`${bench.url}/api/devices/shaker-1/lock_plate`, { method: 'POST', headers })
    const page = await bench.open('/#/devices/shaker-1')
    const screen = page.getByRole('region', { name: 'Device shaker-1' })
    await screen.getByRole('list', { name: 'Operations of the last day' }).getByText('Locked the plate in shaker-1.').first().waitFor()
    await seen(screen, /by the demo, said to be Berta/)
    await screen.getByText(/200 to 3000 rpm, in steps of 1 rpm/).waitFor()
    await screen.getByText(/It locks the plate\. It heats\./).waitFor()
    await screen.getByText('Messages between the service and the device').click()
    await screen.getByRole('list', { name: 'The newest messages' }).getByText('setElmLockPos').first().waitFor()
    await button(screen, 'Run the doctor').click()
    await screen
      .getByText(/The doctor has no finding about this device|^(OK|WARN|FAIL|SKIP): /)
      .first()
      .waitFor()
    await screen.getByRole('link', { name: 'All devices' }).click()
    await card(page, 'shaker-1').waitFor()
    await goTo(page, 'devices/nobody')
    await page.getByText('There is no device nobody on this bench.').waitFor()
  },

  async 'a chart of a day is enlarged by buttons, by a mouse and by two fingers, and shown whole again'(bench) {
    const spans: [number, number][] = []
    const page = await bench.open('/#/devices/shaker-1', { ...phone, touch: true, prepare: (page) => withReadings(page, spans) })
    await page.getByLabel('Show').selectOption('day')
    const chart = page.getByRole('img', { name: /^temperature: from 2\d.* to 3\d/ })
    await chart.waitFor()
    const reset = button(page, 'Reset')
    assert.equal(await reset.isDisabled(), true)
    await button(page, 'Zoom in').focus()
    await page.keyboard.press('Enter')
    await until(page, async () => Math.abs(widthOf(spans.at(-1)) - 43_200) < 60)
    await button(page, 'Later').click()
    await button(page, 'Zoom out').click()
    await until(page, async () => reset.isDisabled())
    const over = page.locator('.u-over').first()
    const { x, y, width, height } = (await over.boundingBox())!
    await page.mouse.move(x + width * 0.25, y + height / 2)
    await page.mouse.down()
    await page.mouse.move(x + width * 0.75, y + height / 2, { steps: 4 })
    await page.mouse.up()
    await until(page, async () => Math.abs(widthOf(spans.at(-1)) - 43_200) < 2000)
    await reset.click()
    await pinch(page, { x: x + width / 2, y: y + height / 2, from: 20, to: 80 })
    await until(page, async () => !(await reset.isDisabled()) && widthOf(spans.at(-1)) < 30_000)
    await over.hover()
    await page
      .getByText(/\d\d:\d\d:\d\d · temperature [\d.]+ °C/)
      .first()
      .waitFor()
  },

  async 'a chart is a table and a file too, and follows light and dark'(bench) {
    const page = await bench.open('/#/devices/shaker-1', { ...small, prepare: (page) => withReadings(page, []) })
    await page.getByRole('img', { name: /^temperature: / }).waitFor()
    assert.equal(await downloaded(page, button(page, 'Download as CSV')), 'shaker-1-readings.csv')
    await page.getByText('As a table').click()
    await page
      .getByRole('row', { name: /\d\d\.\d °C, target 37 °C/ })
      .first()
      .waitFor()
    const line = () => page.evaluate("document.querySelector('.chart canvas').toDataURL()")
    const light = await line()
    await page.emulateMedia({ colorScheme: 'dark' })
    await until(page, async () => (await line()) !== light)
    assert.deepEqual(await findingsOf(page), [])
    assert.deepEqual(await smallTargets(page), [])
  },

  async 'a chart of a run has its actions, from its record'(bench) {
    await endRuns(bench)
    for (const id of ids) await bench.ask('POST', `/api/devices/${id}/initialize`)
    const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
    const page = await bench.open('/#/devices/sealer-1')
    await until(page, async () => (await bench.ask('GET', `/api/executions/${execution_id}`)).status === 'COMPLETED')
    // The list of the last day is not what the chart of a run is made from.
    await page.route('**/api/operations?*', (route) => route.fulfill({ json: { operations: [], next: null } }))
    await page.reload()
    await page.getByLabel('Show').selectOption(`${execution_id}`)
    const over = page.locator('.u-over').first()
    const { width, height } = (await over.boundingBox())!
    for (let x = 0, told = ''; !/Seal: completed/.test(told); x = (x + 5) % width) {
      await over.hover({ position: { x, y: height / 2 }, force: true })
      told = (await page.locator('.at-cursor').first().textContent()) ?? ''
    }
  },

  async 'a stopped device goes on telling how hot it is'(bench) {
    await readyShaker(bench)
    const page = await bench.open('/#/devices/shaker-1')
    const screen = page.getByRole('region', { name: 'Device shaker-1' })
    await screen.getByText('ready', { exact: true }).waitFor()
    await button(screen, 'Stop').click()
    await screen.getByText('stopped', { exact: true }).waitFor()
    const { stopped } = (await bench.ask('GET', '/api/devices/shaker-1')) as { stopped: { at: number } }
    const newest = async () => (await bench.ask('GET', `/api/devices/shaker-1/readings?since=${stopped.at}`)).readings as { at: number }[]
    await until(page, async () => (await newest()).length > 0)
    await screen
      .getByText(/^\d+\.\d °C/)
      .first()
      .waitFor()
    assert.equal((await bench.ask('GET', '/api/devices/shaker-1')).state, 'stopped')
  },

  async 'a note and a photo of a device are kept, and are there for the next browser'(bench) {
    const page = await bench.open('/#/devices/sealer-1')
    await button(page, 'Write a note').click()
    await page.getByLabel('Note', { exact: true }).fill('Heater replaced.\nLet it warm up for 10 minutes.')
    await button(page, 'Save').click()
    await page.getByText(/Heater replaced\./).waitFor()
    await page.getByLabel('Upload a photo').setInputFiles({ name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('no picture') })
    await page.getByText('notes.png is no picture that this browser can read.').waitFor()
    const half = { method: 'PUT', headers: { 'X-API-Key': bench.api_key }, body: png.subarray(0, 20) }
    await fetch(`${bench.url}/api/devices/sealer-1/photo`, half)
    await page.reload()
    await page.getByText('This browser cannot show the photo.').waitFor()
    await pressTwice(page, 'Delete the photo')
    await page.getByLabel('Upload a photo').setInputFiles({ name: 'sealer.png', mimeType: 'image/png', buffer: png })
    await page.getByRole('img', { name: 'Photo of sealer-1' }).waitFor()
    const next = await bench.open('/#/devices/sealer-1')
    await next.getByText(/Let it warm up/).waitFor()
    const photo = next.getByRole('img', { name: 'Photo of sealer-1' })
    await until(next, async () => (await next.evaluate("document.querySelector('canvas.photo').width")) === 1)
    await pressTwice(next, 'Delete the photo')
    await photo.waitFor({ state: 'detached' })
    await pressTwice(next, 'Delete the note')
    await next.getByText('There is no note about this device.').waitFor()
  },
}

async function readyShaker({ ask }: Bench): Promise<void> {
  await ask('POST', '/api/devices/shaker-1/initialize')
}

/** Waits for what no element of the page shows. */
async function until(page: Page, isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await page.waitForTimeout(100)
}

/** Answers the readings of the shaker as of a day at 10 s, and notes the spans that are asked for. */
async function withReadings(page: Page, spans: [number, number][]): Promise<void> {
  await page.route('**/api/devices/shaker-1/readings?*', async (route) => {
    const query = new URL(route.request().url()).searchParams
    const [since, until] = [Number(query.get('since')), Number(query.get('until') ?? Date.now() / 1000)]
    spans.push([since, until])
    const step = Math.max(10, (until - since) / 2000)
    const readings = Array.from({ length: Math.floor((until - since) / step) }, (_, n) => ({
      at: since + n * step,
      temperature: 30 + 7 * Math.sin((since + n * step) / 3000),
      target: 37,
    }))
    await route.fulfill({ json: { device_id: 'shaker-1', readings } })
  })
}

function widthOf(span: [number, number] | undefined): number {
  return span ? span[1] - span[0] : Number.POSITIVE_INFINITY
}

/** Moves two fingers apart, from one distance in pixels to another. */
async function pinch(page: Page, { x, y, from, to }: { x: number; y: number; from: number; to: number }): Promise<void> {
  const browser = await page.context().newCDPSession(page)
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', distance: number) =>
    browser.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: type === 'touchEnd' ? [] : [-1, 1].map((side, id) => ({ x: x + (side * distance) / 2, y, id })),
    })
  await touch('touchStart', from)
  for (let step = 1; step <= 6; step++) await touch('touchMove', from + ((to - from) * step) / 6)
  await touch('touchEnd', to)
}

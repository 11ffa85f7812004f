// The page of the bench in Chromium, on a CPU that is made six times slower: a tablet.

import type { CDPSession, Page } from 'playwright-core'
import { standing, workflowOf } from '../../src/testing/documents.ts'
import { type Bench, card, openBench } from '../browser/bench.ts'
import { bench, median, type Row, row, rowOfRounds } from './bench.ts'
import { ganttPath, scrolled, withPlates } from './page_gantt.ts'

const slower = 6
/** The devices beside the four of the demo. */
const more = Array.from({ length: 19 }, (_, n) => ({ device_id: `extra-${n}`, driver: 'bioshake', transport: { kind: 'simulated' } }))
const threads = 1000
const day_s = 86_400
const interval_s = 10
/** The events before the heap is measured first, so that V8 has compiled the page. */
const warmUp = 20_000
const eventsPerSecond = 2000

/**
 * Times are from the beginning to the frame in which the outcome is shown. The paint is useful when the first device is shown; beside it is the answer of
 * `/health` in the same browser. A tap opens a form on a bench with 23 devices and a run of 1,000 threads. The chart has a day of readings, one each 10 s;
 * beside it the same numbers are parsed and drawn as one line on a bare canvas. A run of 1,000 plates with nine steps each is scrolled from its first row to its last.
 */
export const pageBench = bench({
  name: 'page',
  summary: 'the page in Chromium on a CPU six times slower',
  limit: 'beside it',
  options: { rounds: 5, events: 120_000 },
  async run({ rounds, events }) {
    const opened = await openBench({ devices: more })
    try {
      const [paints, taps] = [await firstPaints(opened, rounds), await tapsOf(opened, rounds)]
      const charts = await chartsOf(opened, rounds)
      const chart = await framesOf(opened, rounds)
      return [
        rowOfRounds('first useful paint beside /health', 'ms', paints, { of: 'ratio', most: 3, wall: true }),
        row(`tap, ${more.length + 4} devices and ${threads} threads`, 'ms', median(taps), {
          target: { of: 'value', most: 100, wall: true },
        }),
        rowOfRounds(`chart of ${day_s / interval_s} readings beside a bare canvas`, 'ms', charts, { of: 'value', most: 150, wall: true }),
        row('frame while the run of 1,000 plates is scrolled', 'ms', median(chart.frames), {
          target: { of: 'value', most: 33, wall: true },
        }),
        row('tap on one of 1,000 plates in the chart of a run', 'ms', median(chart.taps), {
          target: { of: 'value', most: 100, wall: true },
        }),
        ...(await heapRows(opened, events)),
      ]
    } finally {
      await opened.close()
    }
  },
})

async function slowPage(bench: Bench, path: string, prepare?: (page: Page) => Promise<unknown>): Promise<[Page, CDPSession]> {
  let session: CDPSession | undefined
  const page = await bench.open(path, {
    width: 800,
    height: 480,
    async prepare(page) {
      session = await page.context().newCDPSession(page)
      await session.send('Emulation.setCPUThrottlingRate', { rate: slower })
      await page.addInitScript(inPage)
      await prepare?.(page)
    },
  })
  return [page, session!]
}

/** Is run in each page: resolves with the time of the frame after `isSo` holds, since the beginning of the navigation or since `from`. */
const inPage = `
  window.frameAfter = (isSo) => new Promise((resolve) => {
    const look = () => {
      if (!isSo()) return false
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
      return true
    }
    const watch = new MutationObserver(() => look() && watch.disconnect())
    if (!look()) watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  })
  window.useful = window.frameAfter(() => document.querySelector('article, pre'))`

/** Loads the page and `/health` in turns. */
async function firstPaints(bench: Bench, rounds: number): Promise<{ value: number; limit: number }[]> {
  const [page] = await slowPage(bench, '/')
  const timed = async (path: string) => {
    await page.goto('about:blank')
    await page.goto(`${bench.url}${path}`)
    return Number(await page.evaluate('window.useful'))
  }
  for (const path of ['/', '/health']) await timed(path)
  const found: { value: number; limit: number }[] = []
  for (let i = 0; i < rounds; i++) found.push({ value: await timed('/'), limit: await timed('/health') })
  return found
}

async function tapsOf(bench: Bench, rounds: number): Promise<number[]> {
  const steps = [{ wait_for: 'go' }]
  const waiting = workflowOf('waiting', { plate: { ...standing('pad_1'), steps } }, { topology: 'demo' })
  await bench.ask('PUT', '/api/workflows/waiting', waiting)
  const groups = Array.from({ length: threads }, (_, n) => ({ group_id: `g${n}` }))
  const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'waiting', run_mode: 'PURE_SIM', groups })
  await bench.ask('POST', '/api/devices/shaker-1/initialize')
  const [page] = await slowPage(bench, '/')
  await card(page, 'extra-18').waitFor()
  await card(page, 'shaker-1').getByRole('button', { name: 'Shake', exact: true }).waitFor()
  const button = "[...document.querySelectorAll('article button')].find(({ textContent }) => textContent === 'Shake')"
  const taps: number[] = []
  for (let i = 0; i < rounds * 2; i++) taps.push(await tapped(page, button))
  for (const confirm of [false, true]) await bench.ask('POST', `/api/executions/${execution_id}/stop`, { confirm })
  await page.close()
  return taps
}

/** Taps something that opens a sheet, and then closes the sheet, by turns: the time to the frame that shows so, ms. `button` is an expression in the page. */
async function tapped(page: Page, button: string): Promise<number> {
  const tap = `(() => {
    const sheet = () => document.querySelector('dialog.sheet')
    const wasOpen = sheet() !== null
    const button = sheet()?.querySelector('[aria-label=Close]') ?? ${button}
    const from = performance.now()
    button.click()
    return window.frameAfter(() => (sheet() !== null) !== wasOpen).then((at) => at - from)
  })()`
  return Number(await page.evaluate(tap))
}

/** Scrolls through the chart of a run, and taps a row: the mean time of a frame, and that of a tap, ms. */
async function framesOf(bench: Bench, rounds: number): Promise<{ frames: number[]; taps: number[] }> {
  const opened = await slowPage(bench, ganttPath, withPlates)
  const [frames, taps]: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    frames.push((await scrolled(opened)).mean)
    for (let n = 0; n < 2; n++) taps.push(await tapped(opened[0], "document.querySelector('.gantt-row')"))
  }
  await opened[0].close()
  return { frames, taps }
}

/** Chooses the day on the screen of a device, again and again. */
async function chartsOf(bench: Bench, rounds: number): Promise<{ value: number; limit: number }[]> {
  const [page] = await slowPage(bench, '/#/devices/shaker-1', withReadings)
  const show = page.getByLabel('Show')
  const flat = page.getByRole('img', { name: /^temperature: from 20 to 2/ })
  const found: { value: number; limit: number }[] = []
  for (let i = 0; i < rounds; i++) {
    await flat.waitFor()
    await page.evaluate("void (window.drawn = window.frameAfter(() => document.querySelector('[role=img]')?.ariaLabel.includes(' to 3')))")
    await show.selectOption('day')
    const value = Number(
      await page.evaluate(
        "window.drawn.then((at) => at - performance.getEntriesByType('resource').findLast(({ name }) => name.includes('/readings?')).responseEnd)",
      ),
    )
    found.push({ value, limit: Number(await page.evaluate(bare)) })
    await show.selectOption('hour')
  }
  await page.close()
  return found
}

/** A day of readings as the page gets it; the last hour is flat, so that it can be told from the day. */
async function withReadings(page: Page): Promise<void> {
  const now = Date.now() / 1000
  const day = Array.from({ length: day_s / interval_s }, (_, n) => ({
    at: now - day_s + n * interval_s,
    temperature: 30 + 9 * Math.sin(n / 100),
    target: 37,
  }))
  const bodies = { day: JSON.stringify({ device_id: 'shaker-1', readings: day }), hour: flatHour(now) }
  await page.addInitScript(`window.day = ${JSON.stringify(bodies.day)}`)
  await page.route('**/api/devices/shaker-1/readings?*', (route) => {
    const since = Number(new URL(route.request().url()).searchParams.get('since'))
    return route.fulfill({ contentType: 'application/json', body: now - since > 7200 ? bodies.day : bodies.hour })
  })
}

function flatHour(now: number): string {
  return JSON.stringify({ device_id: 'shaker-1', readings: [60, 30, 1].map((ago) => ({ at: now - ago, temperature: 20, target: null })) })
}

/** Parses the day and draws it as one line. */
const bare = `new Promise((resolve) => {
  const from = performance.now()
  const { readings } = JSON.parse(window.day)
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: 760, height: 220 })
  const context = canvas.getContext('2d')
  for (const [n, { temperature }] of readings.entries()) context.lineTo((n / readings.length) * 760, 220 - temperature * 4)
  context.stroke()
  document.body.append(canvas)
  requestAnimationFrame(() => setTimeout(() => {
    resolve(performance.now() - from)
    canvas.remove()
  }))
})`

/** Returns the heap of the page that shows events, after many of them beside after few. */
async function heapRows(bench: Bench, events: number): Promise<Row[]> {
  const page = await bench.open('/#/events')
  const session = await page.context().newCDPSession(page)
  const shown = page.getByRole('list', { name: /Events/ }).getByRole('listitem')
  const after = async (count: number) => {
    await bench.ask('POST', '/api/sim/load', { rate: eventsPerSecond, seconds: count / eventsPerSecond })
    await shown.filter({ hasText: `"n": ${count - 1}` }).waitFor({ timeout: (count / eventsPerSecond) * 1000 + 60_000 })
    await session.send('HeapProfiler.collectGarbage')
    return (await session.send('Runtime.getHeapUsage')).usedSize / 2 ** 20
  }
  const limit = await after(warmUp)
  const value = await after(events)
  return [row(`heap after ${events} events beside ${warmUp}`, 'MiB', value, { limit, target: { of: 'ratio', most: 1.2 } })]
}

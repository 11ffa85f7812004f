// Measures the cost of the page of the bench in a real Chromium: its first paint, its STOP, its memory, and the work that it makes for the service.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { launchChromium } from '../browser/bench.ts'
import { bench, median, percentile, type Row } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { type Client, clientOf } from './demo_client.ts'

import type { Demo, DemoUsage } from './servers/demo.ts'

type Bench = { browser: Browser; service: Child<Demo>; client: Client }
type Options = { rounds: number; stops: number; events: number; seconds: number }

/** Each figure stands beside the same of less: an empty page, an idle bench, fewer events, one page. */
export const page = bench({
  name: 'page',
  summary: 'the page in Chromium: first useful paint, STOP, memory, and CPU of the service for each page',
  limit: 'beside it',
  options: { rounds: 7, stops: 40, events: 120_000, seconds: 10 },
  async run(options) {
    const data_dir = mkdtempSync(join(tmpdir(), 'benchd-page-'))
    const service = await startChild<Demo>('servers/demo.js', { args: ['50', data_dir] })
    const browser = await launchChromium()
    const client = clientOf(service.ready)
    try {
      const its = { browser, service, client }
      return [await paintRow(its, options), await stopRow(its, options), await heapRow(its, options), await cpuRow(its, options)]
    } finally {
      client.close()
      await browser.close()
      await service.end()
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
})

/** A tablet at the bench has a processor so many times slower. */
const slower = 6

/** From the address to what can be used: the cards of the devices. The empty page is `/health`, which the browser shows as a line of text. */
async function paintRow(its: Bench, { rounds }: Options): Promise<Row> {
  const found = { page: [] as number[], empty: [] as number[] }
  for (let i = 0; i < rounds; i++) {
    found.empty.push(await paintedAfter(its, '/health', 'pre'))
    found.page.push(await paintedAfter(its, '/', 'article.card'))
  }
  const [value, limit] = [median(found.page), median(found.empty)]
  const what = `first useful paint, ${slower} times slower CPU, beside an empty page`
  return { what, unit: 'ms', value, limit, ratio: value / limit, target: { of: 'ratio', most: 3, wall: true } }
}

/** On a computer with much else to do, a page on a slower CPU takes more than the usual half minute. */
const patience_ms = 120_000

/** Opens the address as a browser does that has never been there, and answers when what the selector finds was painted, in ms. */
async function paintedAfter({ browser, service }: Bench, path: string, selector: string): Promise<number> {
  const context = await browser.newContext()
  context.setDefaultTimeout(patience_ms)
  try {
    await context.addInitScript(`localStorage.setItem('benchd.api_key', '${service.ready.key}')
      window.painted = new Promise((done) => {
        const look = () => requestAnimationFrame(document.querySelector('${selector}') ? () => setTimeout(() => done(performance.now())) : look)
        look()
      })`)
    const page = await context.newPage()
    await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate: slower })
    await page.goto(service.ready.url + path)
    return Number(await page.evaluate('painted'))
  } finally {
    await context.close()
  }
}

/** From the press to the request at the service. Idle and with events take turns; the screen is that of the events. */
async function stopRow(its: Bench, { stops }: Options): Promise<Row> {
  const { page, session } = await opened(its, '/#/events')
  const found = { idle: [] as number[], busy: [] as number[] }
  const zero_ms = await zeroOf(session)
  await page.evaluate(`addEventListener('pointerdown', (event) => { window.pressed = event.timeStamp }, true)`)
  const turns = 4
  for (let turn = 0; turn < turns; turn++) {
    for (const [times, rate] of [
      [found.idle, 0],
      [found.busy, 100],
    ] as const) {
      await its.client.ask('POST', '/api/sim/load', { rate })
      await wait(1500)
      for (let i = 0; i < stops / turns; i++) times.push((await stopAfter(its, page)) - zero_ms)
    }
  }
  await its.client.ask('POST', '/api/sim/load', { rate: 0 })
  await page.context().close()
  const [value, limit] = [percentile(found.busy, 0.99), percentile(found.idle, 0.99)]
  const what = `STOP, press to request at the service, p99 of ${found.busy.length}: 100 events/s beside idle`
  return { what, unit: 'ms', value, limit, ratio: value / limit, target: { of: 'ratio', most: 3, wall: true } }
}

/** When the page's own clock was 0, in ms of the clock that nobody sets, which every process reads. */
async function zeroOf(session: CDPSession): Promise<number> {
  await session.send('Performance.enable')
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'NavigationStart')!.value * 1000
}

/** Presses STOP ALL, gives the page its buttons back, and answers the time at the service less that of the press on the page, in ms. */
async function stopAfter({ service }: Bench, page: Page): Promise<number> {
  const before = (await service.ask<DemoUsage>({})).stops.length
  await pressOn(page, 'STOP ALL')
  const pressed_ms = Number(await page.evaluate('pressed'))
  await page.mouse.up()
  await pressOn(page, 'Hold to continue')
  await page.getByRole('button', { name: 'Hold to continue' }).waitFor({ state: 'detached' })
  await page.mouse.up()
  const { stops } = await service.ask<DemoUsage>({})
  if (stops.length !== before + 1) throw new Error(`${stops.length - before} stops came of one press`)
  return stops.at(-1)! - pressed_ms
}

async function pressOn(page: Page, name: string): Promise<void> {
  const { x, y, width, height } = (await page.getByRole('button', { name }).boundingBox())!
  await page.mouse.move(x + width / 2, y + height / 2)
  await page.mouse.down()
}

/** The events of the first look, and of each push. The page asks for the next ones as soon as it has these. */
const portion = 20_000

async function heapRow(its: Bench, { events }: Options): Promise<Row> {
  const { page, session } = await opened(its, '/#/events')
  let pushed = 0
  const pushUntil = async (most: number) => {
    for (; pushed < most; pushed += portion) {
      const execution_id = `push-${pushed}`
      await its.client.ask('POST', '/api/sim/load', { rate: portion, seconds: 1, execution_id })
      const last = page
        .getByRole('listitem')
        .filter({ hasText: `"${execution_id}"` })
        .filter({ hasText: `"n": ${portion - 1}` })
      await last.waitFor()
    }
  }
  const heapMib = async () => {
    await session.send('HeapProfiler.collectGarbage')
    return (await session.send('Runtime.getHeapUsage')).usedSize / 2 ** 20
  }
  await pushUntil(portion)
  const limit = await heapMib()
  await pushUntil(events)
  const value = await heapMib()
  await page.context().close()
  return {
    ...{ what: `heap of the page after ${pushed} events, more than after ${portion}`, unit: 'MiB', value: value - limit, limit },
    target: { of: 'value', most: 5 },
  }
}

/** Each page is another computer's: it has a stream of its own. */
async function cpuRow(its: Bench, { seconds }: Options): Promise<Row> {
  const more = 10
  const pages = [await opened(its, '/')]
  const percent = async () => {
    await wait(3000)
    const open = await streamsOf(its.service.ready)
    if (open !== pages.length) throw new Error(`of ${pages.length} pages ${open} have a stream`)
    const before = (await its.service.ask<DemoUsage>({})).cpu_us
    await wait(seconds * 1000)
    return ((await its.service.ask<DemoUsage>({})).cpu_us - before) / seconds / 1e4
  }
  const limit = await percent()
  while (pages.length <= more) pages.push(await opened(its, '/'))
  const value = ((await percent()) - limit) / more
  for (const { page } of pages) await page.context().close()
  const what = 'CPU of the service for each open page, beside all of it with one page'
  return { what, unit: '%', value, limit, target: { of: 'value', most: 1 } }
}

async function streamsOf({ url, key }: Demo): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`, { headers: { 'X-API-Key': key } })).text()
  return Number(/^benchd_sse_clients (\d+)$/m.exec(metrics)?.[1])
}

async function opened({ browser, service }: Bench, path: string): Promise<{ page: Page; session: CDPSession }> {
  const context = await browser.newContext()
  context.setDefaultTimeout(patience_ms)
  await context.addInitScript(`localStorage.setItem('benchd.api_key', '${service.ready.key}')`)
  const page = await context.newPage()
  await page.goto(service.ready.url + path)
  await page.locator('[data-link=live]').waitFor()
  return { page, session: await context.newCDPSession(page) }
}

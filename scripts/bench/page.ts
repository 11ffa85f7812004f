// Measures the cost of the page of the bench in a real Chromium: its first paint, its STOP and its memory.

import { setTimeout as wait } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '../browser/bench.ts'
import { bench, median, percentile, type Row, row } from './bench.ts'
import { startChild } from './child.ts'
import { clientOf } from './demo_client.ts'
import type { Demo } from './servers/demo.ts'

type Bench = { browser: Browser; demo: Demo }

/** Each figure stands beside the same of less: an empty page, an idle bench, fewer events. */
export const page = bench({
  name: 'page',
  summary: 'the page in Chromium: first useful paint, STOP, and memory',
  limit: 'beside it',
  options: { rounds: 7, stops: 40, events: 120_000 },
  async run({ rounds, stops, events }) {
    const service = await startChild<Demo>('servers/demo.js', { args: ['50'] })
    const browser = await launchChromium()
    try {
      const its = { browser, demo: service.ready }
      return [await paintRow(its, rounds), await stopRow(its, stops), await heapRow(its, events)]
    } finally {
      await browser.close()
      await service.end()
    }
  },
})

/** A tablet at the bench has a processor so many times slower. */
const slower = 6
/** On a computer with much else to do, a page on a slower CPU takes more than the usual half minute. */
const patience_ms = 120_000

/** Opens an address as a browser does that has never been there. */
async function opened({ browser, demo }: Bench, path: string, { script = '', rate = 1 } = {}): Promise<Page> {
  const context = await browser.newContext()
  context.setDefaultTimeout(patience_ms)
  await context.addInitScript(`localStorage.setItem('benchd.api_key', '${demo.key}'); ${script}`)
  const page = await context.newPage()
  await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate })
  await page.goto(demo.url + path)
  return page
}

/** From the address to what can be used: the cards of the devices. The empty page is `/health`, which the browser shows as a line of text. */
async function paintRow(its: Bench, rounds: number): Promise<Row> {
  const paintedAfter = async (path: string, selector: string) => {
    const script = `window.painted = new Promise((done) => {
      const look = () => requestAnimationFrame(document.querySelector('${selector}') ? () => setTimeout(() => done(performance.now())) : look)
      look()
    })`
    const page = await opened(its, path, { script, rate: slower })
    const ms = Number(await page.evaluate('painted'))
    await page.context().close()
    return ms
  }
  const found = { page: [] as number[], empty: [] as number[] }
  for (let i = 0; i < rounds; i++) {
    found.empty.push(await paintedAfter('/health', 'pre'))
    found.page.push(await paintedAfter('/', 'article.card'))
  }
  const what = `first useful paint, ${slower} times slower CPU, beside an empty page`
  return row(what, 'ms', median(found.page), { limit: median(found.empty), target: { of: 'ratio', most: 3, wall: true } })
}

/** From the press to the request of the page. Idle and with events take turns; the screen is that of the events. */
async function stopRow(its: Bench, stops: number): Promise<Row> {
  const script = `const real = fetch
    addEventListener('pointerdown', ({ timeStamp }) => { window.pressed = timeStamp }, true)
    window.fetch = (address, ...more) => {
      if (String(address).endsWith('/api/stop')) window.sent ??= performance.now()
      return real(address, ...more)
    }`
  const page = await opened(its, '/#/events', { script })
  const found = { idle: [] as number[], busy: [] as number[] }
  const turns = 4
  const load = (rate: number) => clientOf(its.demo).ask('POST', '/api/sim/load', { rate })
  for (let turn = 0; turn < turns; turn++) {
    for (const [times, rate] of [[found.idle, 0] as const, [found.busy, 100] as const]) {
      await load(rate)
      await wait(1500)
      for (let i = 0; i < stops / turns; i++) times.push(await stopAfter(page))
    }
  }
  await load(0)
  await page.context().close()
  const what = `STOP, press to request, p99 of ${found.busy.length}: 100 events/s beside idle`
  const [value, limit] = [percentile(found.busy, 0.99), percentile(found.idle, 0.99)]
  return row(what, 'ms', value, { limit, target: { of: 'ratio', most: 3, wall: true } })
}

/** Presses STOP ALL, gives the page its buttons back, and answers the time of the request less that of the press, in ms. */
async function stopAfter(page: Page): Promise<number> {
  await page.evaluate('window.sent = undefined')
  await page.getByRole('button', { name: 'STOP ALL' }).click()
  const ms = Number(await (await page.waitForFunction('window.sent && window.sent - pressed')).jsonValue())
  const hold = page.getByRole('button', { name: 'Hold to continue' })
  await hold.hover()
  await page.mouse.down()
  await hold.waitFor({ state: 'detached' })
  await page.mouse.up()
  return ms
}

/** The events of the first look, and of each push. The page asks for the next ones as soon as it has these. */
const portion = 20_000

async function heapRow(its: Bench, events: number): Promise<Row> {
  const page = await opened(its, '/#/events')
  await page.locator('[data-link=live]').waitFor()
  const session = await page.context().newCDPSession(page)
  let pushed = 0
  const heapAfter = async (most: number) => {
    for (; pushed < most; pushed += portion) {
      const execution_id = `push-${pushed}`
      await clientOf(its.demo).ask('POST', '/api/sim/load', { rate: portion, seconds: 1, execution_id })
      const those = page.getByRole('listitem').filter({ hasText: `"${execution_id}"` })
      await those.filter({ hasText: `"n": ${portion - 1}` }).waitFor()
    }
    await session.send('HeapProfiler.collectGarbage')
    return (await session.send('Runtime.getHeapUsage')).usedSize / 2 ** 20
  }
  const limit = await heapAfter(portion)
  const value = await heapAfter(events)
  await page.context().close()
  const what = `heap of the page after ${pushed} events, more than after ${portion}`
  return { ...row(what, 'MiB', value - limit, { target: { of: 'value', most: 5 } }), limit }
}

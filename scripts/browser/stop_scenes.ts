// STOP ALL under trouble: a network that is cut, a service that is frozen or starts anew, devices that others move, tabs that slept, and no key.

import assert from 'node:assert/strict'
import type { Page, Request } from 'playwright-core'
import { startChild } from '../bench/child.ts'
import type { Demo } from '../bench/servers/demo.ts'
import {
  answered,
  type Bench,
  button,
  card,
  desk,
  holdToContinue,
  ids,
  launchChromium,
  motionButton,
  phone,
  seen,
  small,
  widthOf,
} from './bench.ts'
import type { Check } from './bench_page.ts'
import { cuttable } from './trouble_scenes.ts'

const sizes = [small, phone, desk]

const silent = /STOP NOT CONFIRMED: the service does not answer\. Devices may still move\. Use the stop buttons/
const asks = /STOP ALL from [\d:]+ was not confirmed\. .* Send it now\?/

export const stopChecks: Record<string, Check> = {
  async 'with the network cut, a stop is sent again and again until it is answered, and each further touch sends one'(bench) {
    for (const size of sizes) {
      const page = await bench.open('/', { ...size, prepare: cuttable })
      await card(page, 'shaker-1').waitFor()
      const stays = await placeOf(page)
      await page.evaluate('goAway()')
      await touch(page, silent)
      await page.getByText(/by itself: sent ([3-9]|\d\d) times since \d/).waitFor()
      await stays('not confirmed')
      await touch(page, silent)
      await page.evaluate('comeBack()')
      await page.getByText(answered).waitFor()
      await page.locator('[data-link=live]').waitFor()
      await stays('answered')
      await stopSent(page)
      await page.getByText(answered).waitFor()
      await holdToContinue(page)
      await stays('continued')
      await stopSent(page)
      await page.context().close()
    }
  },

  async 'a stop that is not confirmed can be withdrawn, is asked for after a reload, and lets nothing move meanwhile'(bench) {
    for (const size of sizes) {
      const page = await bench.open('/', { ...size, prepare: cuttable })
      await card(page, 'shaker-1').waitFor()
      await page.evaluate('goAway()')
      await touch(page)
      await button(page, 'Withdraw').click()
      await page.getByText('The stop was withdrawn without an answer').waitFor()
      const stops = countOf(page)
      await page.evaluate('comeBack()')
      await page.locator('[data-link=live]').waitFor()
      await page.evaluate('goAway()')
      await touch(page, silent)
      await page.reload()
      await page.getByText(asks).waitFor()
      await page.locator('[data-link=live]').waitFor()
      assert.equal(await motionButton(card(page, 'shaker-1')).isDisabled(), true)
      assert.equal(stops(), 0, 'neither the one that was withdrawn nor that of before the reload')
      await (await placeOf(page))('asked')
      await button(page, 'Stop all').click()
      await page.getByText(answered).waitFor()
      await page.context().close()
    }
  },

  async 'a frozen service holds no touch, and confirms when it goes on'(bench) {
    const service = await startChild<Demo>('servers/demo.js', { args: ['50'] })
    const browser = await launchChromium()
    const { url, key, pid } = service.ready
    try {
      for (const size of sizes) {
        const context = await browser.newContext({ viewport: size })
        await context.addInitScript(`localStorage.setItem('benchd.api_key', '${key}')`)
        const page = await context.newPage()
        await page.goto(url)
        await card(page, 'shaker-1').waitFor()
        const stays = await placeOf(page)
        const stops = countOf(page)
        process.kill(pid, 'SIGSTOP')
        await stopSent(page)
        await page.getByText(silent).waitFor()
        const before = stops()
        await stopSent(page)
        await page.getByText(/sent ([3-9]|\d\d) times since/).waitFor()
        assert.ok(stops() > before)
        await stays('frozen')
        process.kill(pid, 'SIGCONT')
        await page.getByText(answered).waitFor()
        await stays('answered')
        const shaker = await fetch(`${url}/api/devices/shaker-1`, { headers: { 'X-API-Key': key } })
        assert.equal(((await shaker.json()) as { state: string }).state, 'stopped')
        await context.close()
      }
    } finally {
      process.kill(pid, 'SIGCONT')
      await browser.close()
      await service.end()
    }
    assert.deepEqual(bench.complaints, [])
  },

  async 'a stop that was touched while the service was away is taken when it has started'(bench) {
    for (const size of sizes) {
      const page = await bench.open('/', size)
      await card(page, 'shaker-1').waitFor()
      for (const id of ids) await bench.ask('POST', `/api/devices/${id}/initialize`)
      const stays = await placeOf(page)
      await bench.restart(async () => {
        await page.getByText(/no connection for/).waitFor()
        await touch(page, silent)
        await stays('away')
      })
      await page.getByText(answered).waitFor()
      for (const id of ids) assert.equal((await bench.ask('GET', `/api/devices/${id}`)).state, 'stopped', id)
      await page.locator('[data-link=live]').waitFor()
      await stays('back')
      await page.context().close()
    }
  },

  async 'a device that somebody else moves after a stop is shown at work, and the next touch stops it'(bench) {
    for (const size of sizes) {
      const page = await bench.open('/', size)
      await card(page, 'shaker-1').waitFor()
      const stays = await placeOf(page)
      await touch(page, answered)
      for (const operation of ['initialize', 'lock_plate']) await bench.ask('POST', `/api/devices/shaker-1/${operation}`)
      const wish = { operation: 'shake', params: { speed: 500, duration: 3000 } }
      const shaking = bench.ask('POST', '/api/devices/shaker-1/perform', wish).catch(() => undefined)
      await page.getByText('At work now: shaker-1 (Shake).').waitFor()
      await card(page, 'shaker-1').getByText('busy', { exact: true }).waitFor()
      await seen(card(page, 'shaker-1'), /\d+:\d\d left/)
      await stays('at work')
      await touch(page)
      await shaking
      await card(page, 'shaker-1').getByText('stopped', { exact: true }).waitFor()
      await page.getByText(/At work now/).waitFor({ state: 'detached' })
      await page.context().close()
    }
  },

  async 'eight tabs that slept with a stop send none when they wake, and each asks'(bench) {
    const first = await bench.open('/', { width: 800, height: 480, prepare: cuttable })
    const context = first.context()
    const pages = [first]
    while (pages.length < 8) {
      const page = await context.newPage()
      await page.setViewportSize(sizes[pages.length % sizes.length]!)
      await cuttable(page)
      await page.goto(bench.url)
      await card(page, 'arm-1').waitFor()
      pages.push(page)
    }
    for (const page of pages) {
      await page.bringToFront()
      await page.evaluate('goAway()')
      await touch(page, silent)
    }
    const before = await lastStop(bench)
    const counts = pages.map(countOf)
    for (const page of pages) {
      const session = await context.newCDPSession(page)
      await session.send('Page.setWebLifecycleState', { state: 'frozen' })
      await page.evaluate('const now = Date.now; Date.now = () => now() + 8 * 3600e3; comeBack()')
      await session.send('Page.setWebLifecycleState', { state: 'active' })
    }
    for (const page of pages) {
      await page.bringToFront()
      await page.getByText(asks).waitFor()
    }
    assert.deepEqual(
      counts.map((count) => count()),
      pages.map(() => 0),
    )
    assert.deepEqual(await lastStop(bench), before)
    await button(first, 'Stop all').click()
    await first.getByText(answered).waitFor()
    assert.notDeepEqual(await lastStop(bench), before)
    for (const page of pages.slice(1)) await button(page, 'Withdraw').click()
    assert.deepEqual(
      counts.map((count) => count()),
      pages.map((page) => (page === first ? 1 : 0)),
    )
  },

  async 'without a key the page says in red that it may not stop, and a touch is sent all the same'(bench) {
    for (const size of sizes) {
      const page = await bench.open('/', { ...size, withKey: false })
      await page.getByLabel('API key').waitFor()
      const red = page.locator('.stop-note.bad')
      await red.getByText(/has no key, so it is not allowed to stop the devices\. Use the stop buttons/).waitFor()
      const stays = await placeOf(page)
      await stopSent(page)
      await page.getByText(/STOP NOT CONFIRMED: the service answered 401/).waitFor()
      await stays('refused')
      await page.context().close()
    }
  },

  async 'a key of any scope stops, also before the page is live; one that was revoked is still tried; one that was forgotten is gone'(
    bench,
  ) {
    const { api_key, key_id } = await bench.ask('POST', '/api/keys', { name: 'reader', scope: 'read' })
    const slow = (page: Page) => page.route(/\/api\/(system\/whoami|live)/, () => {})
    const page = await bench.open(`/#k=${api_key}`, { withKey: false, prepare: slow })
    assert.equal((await stopSent(page)).headers()['x-api-key'], api_key)
    await page.getByText(answered).waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.goto('about:blank')
    await page.goto(`${bench.url}/#k=${api_key}`)
    await card(page, 'shaker-1').waitFor()
    await touch(page, answered)
    await bench.ask('DELETE', `/api/keys/${key_id}`)
    await page.getByLabel('API key').waitFor()
    await page.getByText(/did not accept the key of this browser\. STOP ALL still sends the key/).waitFor()
    await page.reload()
    await page.getByLabel('API key').waitFor()
    assert.equal((await stopSent(page)).headers()['x-api-key'], api_key)
    await page.getByText(/STOP NOT CONFIRMED: the service answered 401/).waitFor()
    await page.getByLabel('API key').fill(bench.api_key)
    await button(page, 'Connect').click()
    await card(page, 'shaker-1').waitFor()
    const other = await page.context().newPage()
    await other.goto(`${bench.url}/#/system`)
    await button(other, 'Forget the key').click()
    for (const one of [other, page]) {
      await one.getByText(/has no key, so it is not allowed/).waitFor()
      assert.equal((await stopSent(one)).headers()['x-api-key'] ?? '', '')
    }
  },

  async 'the Enter key and a click without a pointer send one stop each'(bench) {
    const page = await bench.open('/')
    await card(page, 'shaker-1').waitFor()
    const stops = countOf(page)
    await button(page, 'STOP ALL').focus()
    await page.keyboard.press('Enter')
    await page.getByText(answered).waitFor()
    assert.equal(stops(), 1)
    const pressed = page.waitForResponse((response) => isStop(response.request()))
    await page.keyboard.press('Space')
    await pressed
    assert.equal(stops(), 2)
    await stopSent(page, () => page.evaluate('document.querySelector("button.stop").click()'))
  },
}

function isStop(request: Request): boolean {
  return request.method() === 'POST' && request.url().endsWith('/api/stop')
}

/** Counts the stops that the page sends from now on. */
function countOf(page: Page): () => number {
  let count = 0
  page.on('request', (request) => {
    if (isStop(request)) count++
  })
  return () => count
}

/** The last stop of a device, as the service knows it. */
async function lastStop(bench: Bench): Promise<unknown> {
  const { stopped } = (await bench.ask('GET', '/api/devices/shaker-1')) as { stopped: { again: unknown } | null }
  return stopped?.again ?? stopped
}

/** Touches STOP ALL, and waits until the page says what came of it. */
async function touch(page: Page, said?: RegExp): Promise<void> {
  await button(page, 'STOP ALL').click()
  if (said) await page.getByText(said).waitFor()
}

/** Returns the stop that the page sends when it is touched, or when something else is done. */
async function stopSent(page: Page, act: () => Promise<unknown> = () => touch(page)): Promise<Request> {
  const [request] = await Promise.all([page.waitForRequest(isStop), act()])
  return request
}

/** Fails when STOP ALL is elsewhere than at the first look, hidden, or covered. */
async function placeOf(page: Page): Promise<(when: string) => Promise<void>> {
  const look = async () => {
    const { x, y, width } = (await button(page, 'STOP ALL').boundingBox())!
    return { x, y, width }
  }
  const first = await look()
  return async (when) => {
    assert.deepEqual(await look(), first, when)
    const { x, y } = first
    const top = await page.evaluate(`document.elementFromPoint(${x + 20}, ${y + 20})?.textContent`)
    assert.equal(top, 'STOP ALL', when)
    const [wide, high] = [await widthOf(page), page.viewportSize()!]
    assert.ok(wide <= high.width, `${when}: the page is ${wide} wide`)
  }
}

// Bad input and trouble: what the page shows when there is too much of everything, when nobody answers, and in many tabs.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { answered, button, card, downloaded, goTo, motionButton, needOf, phone, seen, small, widthOf } from './bench.ts'
import type { Check } from './bench_page.ts'

/** Every character that a name may have, markup and quotes among them. */
const oddName = `ä-日本-<b>&amp;"'\`\\/%7B{}#?;:,.!()[]~^|@$*+=€ ‮rtl 😀`
const longText = 'The arm is where nobody has taught it to be. '.repeat(2300)

const device = {
  ...{ type: 'shaker', is_initialized: true, driver: 'bioshake', simulated: true, state: 'ready', operation: null, last_operation: null },
  ...{ fault: null, stopped: null, heard_at: null, identity: null, lock: null, parts: {} },
}

function tooMuch(): [kind: string, id: string, value: object][] {
  const devices = Array.from({ length: 64 }, (_, i) => ({ ...device, device_id: `shaker-${i + 1}`, name: oddName }))
  const execution_id = '00000000-0000-4000-8000-000000000001'
  const run = {
    ...{ execution_id, workflow_name: oddName, run_mode: 'PURE_SIM', status: 'IN_PROGRESS', started_at: Date.now() / 1000 - 60 },
    ...{ ended_at: null, paused: null, reason: null },
  }
  const threads = Array.from({ length: 1000 }, (_, i) => ({
    ...{ thread_id: `t${i}`, execution_id, thread_name: `${oddName} ${i}`, template_name: 'plate', status: 'MOVING', since: 1 },
    ...{ pause_reason: null, last_error: null, decisions: [], retry_on: [], labware: null, position: oddName, held_by: null },
    ...{ method: null, device: null, waiting: null },
  }))
  const rows = threads.map(({ thread_id, thread_name }, i) => ({
    ...{ action_id: `a${i}`, thread_id, thread_name, kind: 'action', name: oddName, method_id: null, method_name: null, device: oddName },
    ...{ from: null, to: null, started: i / 20, ended: null, status: 'EXECUTING_ACTION' },
  }))
  const incident = {
    ...{ incident_id: 'i', category: 'OTHER', severity: 'CRITICAL', message: longText, recovery_action: 'NONE', execution_id: null },
    ...{ thread_id: null, detail: {}, timestamp: Date.now() / 1000, acknowledged: null },
  }
  return [
    ['service', 'system', { status: 'degraded', version: '0', uptime_s: 1, reasons: ['disk', 'storage', 'clock'] }],
    ...devices.map((one): [string, string, object] => ['device', one.device_id, one]),
    ['run', execution_id, run],
    ...threads.map((one): [string, string, object] => ['thread', one.thread_id, one]),
    ...rows.map((one): [string, string, object] => ['timeline', one.action_id, one]),
    ['incident', 'i', incident],
  ]
}

/** In the place of the stream of the service: these values, and a beat each second unless there are none. */
async function streams(page: Page, values: readonly unknown[], { beats = true } = {}): Promise<void> {
  await page.addInitScript(
    ({ made, beats }) => {
      const real = globalThis.fetch
      const text = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
      const all = made.map(([kind, id, value]) => text('state', { kind, id, value })).join('') + text('ready', {})
      globalThis.fetch = async (input, init) => {
        if (!String(input).includes('/api/live')) return real(input, init)
        const encoder = new TextEncoder()
        const body = new ReadableStream({
          start(controller) {
            controller.enqueue(encoder.encode(all))
            const beat = () => controller.enqueue(encoder.encode(text('beat', { time: Date.now() / 1000 })))
            if (!beats) return
            beat()
            setInterval(beat, 1000)
          },
        })
        return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
      }
    },
    { made: values as [string, string, object][], beats },
  )
}

/** A network that `goAway()` and `comeBack()` in the page take away and give back, with the connections that are open. */
export async function cuttable(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const real = globalThis.fetch
    const open = new Set<AbortController>()
    let isAway = false
    globalThis.fetch = (input, init = {}) => {
      if (isAway) return Promise.reject(new TypeError('Failed to fetch'))
      const cut = new AbortController()
      open.add(cut)
      init.signal?.addEventListener('abort', () => cut.abort())
      return real(input, { ...init, signal: cut.signal })
    }
    const away = (now: boolean) => () => {
      isAway = now
      for (const cut of open) cut.abort()
      open.clear()
    }
    Object.assign(globalThis, { goAway: away(true), comeBack: away(false) })
  })
}

export const troubleChecks: Record<string, Check> = {
  async '64 devices, 1,000 threads, 100 kB in an incident and names of every character leave each screen usable'(bench) {
    for (const { width, height } of [small, phone]) {
      const page = await bench.open('/', { width, height, prepare: (page) => streams(page, tooMuch()) })
      await page.getByRole('article', { name: 'shaker-64', exact: true }).waitFor()
      const need = needOf(page)
      await need.getByRole('button', { name: 'Acknowledge' }).waitFor()
      for (const screen of ['bench', 'runs', 'runs/00000000-0000-4000-8000-000000000001', 'system']) {
        await goTo(page, screen)
        await page.getByRole('main').locator('section').nth(1).waitFor()
        const wide = await widthOf(page)
        assert.ok(wide <= width, `${screen} is ${wide} wide on ${width}`)
        const { y, height: high } = (await page.getByRole('button', { name: 'STOP ALL' }).boundingBox())!
        assert.ok(y >= 0 && y + high <= height, `STOP ALL is out of view on ${screen}`)
      }
      await goTo(page, 'runs/00000000-0000-4000-8000-000000000001')
      await page.getByText('940 more threads are open.').waitFor()
      const rows = page.getByRole('figure', { name: 'Timeline' }).getByRole('button')
      await rows.first().waitFor()
      assert.ok((await rows.count()) < 60, 'only the rows in view are drawn')
      assert.equal(await page.locator('main b').count(), 0, 'a name is never markup')
      const region = (await page.getByRole('region', { name: 'Needs you' }).boundingBox())!
      assert.ok(region.height < height, 'a long text does not push the screen away')
      await page.context().close()
    }
  },

  async 'a bench without devices says what to type, on every size of screen'(bench) {
    for (const { width, height } of [small, phone]) {
      const none = [['service', 'system', { status: 'ok', version: '0', uptime_s: 1, reasons: [] }]]
      const page = await bench.open('/', { width, height, prepare: (page) => streams(page, none) })
      const steps = page.getByRole('region', { name: 'First steps' })
      await steps.getByText('No device is configured yet').waitFor()
      await steps.getByText(/^(sudo|npx) benchd init$/).waitFor()
      assert.ok((await widthOf(page)) <= width)
      await page.context().close()
    }
  },

  async 'a stream that has just begun does not set the clock back until its first beat'(bench) {
    const prepare = async (page: Page) => {
      await streams(page, tooMuch(), { beats: false })
      const run = tooMuch().find(([kind]) => kind === 'run')![2]
      await page.route('**/api/executions?*', (route) => route.fulfill({ json: { executions: [run], next: null } }))
    }
    const page = await bench.open('/#/runs', { prepare })
    await seen(page.getByRole('row').filter({ hasText: 'Plan only' }), /^1:0\d$/)
  },

  async 'a device call that takes too long is given time, called done, or cut off by its card'(bench) {
    const incident = {
      ...{ incident_id: 'late', category: 'RECOVERABLE_TIMEOUT', severity: 'WARNING', message: 'seal of sealer-1 takes too long' },
      ...{ recovery_action: 'NONE', execution_id: null, thread_id: null, detail: {}, timestamp: 1, acknowledged: null },
    }
    const page = await bench.open('/', { prepare: (page) => streams(page, [['incident', 'late', incident]]) })
    const need = needOf(page, /takes too long/)
    for (const [label, route] of Object.entries({ 'More time': 'extend', 'Mark as done': 'complete', 'Abort call': 'abort' })) {
      const asked = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith(`/api/incidents/late/${route}`))
      await need.getByRole('button', { name: label }).click()
      await asked
    }
  },

  async 'degraded health, as with a full disk or a clock that jumped, is told on System in words'(bench) {
    const page = await bench.open('/#/system', { prepare: (page) => streams(page, tooMuch()) })
    await page.getByText('degraded: disk, storage, clock').waitFor()
  },

  async 'an hour without network: what is shown is grey and says how old it is, a stop is told as not confirmed, and then all is back'(
    bench,
  ) {
    const page = await bench.open('/', { prepare: cuttable })
    await motionButton(card(page, 'shaker-1')).waitFor()
    await page.evaluate('goAway()')
    await page.getByText(/no connection for/).waitFor()
    assert.equal(await motionButton(card(page, 'shaker-1')).isDisabled(), true)
    await page.evaluate('const now = performance.now; performance.now = () => now.call(performance) + 3600e3')
    await page.getByText(/no connection for 36\d\d s/).waitFor()
    await page.getByRole('button', { name: 'STOP ALL' }).click()
    await page.getByText(/STOP NOT CONFIRMED: the service does not answer/).waitFor()
    await page.evaluate('comeBack()')
    await page.locator('[data-link=live]').waitFor()
  },

  async 'a page that was frozen by a long task sends its stop when it is pressed'(bench) {
    const page = await bench.open('/')
    await card(page, 'shaker-1').waitFor()
    const stopped = page.waitForRequest((request) => request.url().endsWith('/api/stop'))
    // The press comes while the task runs; the handler sends before anything else is drawn.
    await page.evaluate(`setTimeout(() => { const end = performance.now() + 700; while (performance.now() < end); }, 0)`)
    await page.getByRole('button', { name: 'STOP ALL' }).click()
    await stopped
    await page.getByText(answered).waitFor()
  },

  async 'of eight tabs five poll, a stop from each reaches the service, and every other tab tells who stopped'(bench) {
    const first = await bench.open('/')
    const context = first.context()
    const pages = [first]
    const lives = new Map<Page, number>()
    while (pages.length < 8) {
      const page = await context.newPage()
      page.on('request', (request) => request.url().endsWith('/api/live') && lives.set(page, (lives.get(page) ?? 0) + 1))
      await page.goto(bench.url)
      await card(page, 'arm-1').waitFor()
      pages.push(page)
    }
    // Tabs that poll open the stream again and again.
    const early = pages[1]!
    const before = lives.get(early) ?? 0
    await early.waitForRequest((request) => request.url().endsWith('/api/live'))
    assert.ok((lives.get(early) ?? 0) > before)
    for (const page of pages) {
      await page.getByRole('button', { name: 'STOP ALL' }).click()
      await page.getByText(answered).waitFor()
    }
    type Trail = { entries: { what: string; times?: number }[] }
    const { entries } = (await bench.ask('GET', '/api/system/audit?limit=200&outcome=done')) as Trail
    const stops = entries.filter(({ what }) => what === 'POST /api/stop').reduce((sum, { times = 1 }) => sum + times, 0)
    assert.ok(stops >= 8, `${stops} stops`)
    const other = await bench.open('/#/teach')
    await other.getByText(/shaker-1, .* stopped by the demo/).waitFor()
    await other.context().close()
  },

  async 'a press for what is not so any more is refused with what is, and who changed it'(bench) {
    await bench.ask('POST', '/api/devices/shaker-1/initialize')
    await bench.ask('POST', '/api/devices/shaker-1/lock_plate')
    const shown = ['device', 'shaker-1', { ...device, device_id: 'shaker-1', name: 'Shaker' }]
    const page = await bench.open('/', { prepare: (page) => streams(page, [shown]) })
    await bench.ask('POST', '/api/devices/shaker-1/stop')
    await card(page, 'shaker-1').getByRole('button', { name: 'Lock plate', exact: true }).click()
    await card(page, 'shaker-1')
      .getByText(/shaker-1 is stopped by now, and was shown as ready; the demo asked it to stop/)
      .waitFor()
    await page.context().close()
    for (const operation of ['initialize', 'unlock_plate']) await bench.ask('POST', `/api/devices/shaker-1/${operation}`)
  },

  async 'the doctor is run, teachpoints are exported and imported with a preview, and an arm tells where it is'(bench) {
    await bench.ask('POST', '/api/devices/arm-1/initialize')
    const page = await bench.open('/#/system')
    await page.getByRole('button', { name: 'Run the doctor' }).click()
    await page.getByText(/^\d+ failed, \d+ warnings?$/).waitFor()
    assert.match(await downloaded(page, button(page, 'Download a support bundle')), /^benchd-bundle-.*\.tar\.gz$/)
    await goTo(page, 'teach')
    await page.getByRole('button', { name: 'pad_2', exact: true }).click()
    const edit = page.getByRole('region', { name: 'Teachpoint pad_2' })
    await edit.getByRole('button', { name: 'Use position of arm-1' }).click()
    const { coords } = await bench.ask('GET', '/api/devices/arm-1/pose')
    // The policy of the page lets no expression be looked at again and again inside it.
    while ((await page.locator('#coord-x').inputValue()) !== String((coords as { x: number }).x)) await page.waitForTimeout(100)
    const point = { device_id: 'arm-1', name: 'pad_9', coord_type: 'cartesian', coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 } }
    const buffer = Buffer.from(JSON.stringify([point]))
    assert.equal(await downloaded(page, button(page, 'Export')), 'arm-1-teachpoints.json')
    await page.getByLabel('File of teachpoints').setInputFiles({ name: 'points.json', mimeType: 'application/json', buffer })
    const preview = page.getByRole('region', { name: 'Changes by the import' })
    await preview.getByText('1 new, 0 changed, 0 as they are.').waitFor()
    await preview.getByRole('button', { name: 'Import 1' }).click()
    await page.getByRole('button', { name: 'pad_9', exact: true }).waitFor()
    await bench.ask('DELETE', '/api/teachpoints/arm-1/pad_9')
  },
  async 'a refusal does not cover the button that is pressed next'(bench) {
    const page = await bench.open('/#/runs/new', small)
    await page.getByLabel('Workflow', { exact: true }).selectOption('seal-and-spin')
    await page.getByLabel('Speed (rpm)').fill('99999')
    const start = button(page, 'Start run')
    await start.click()
    await page.getByRole('button', { name: 'Close this message' }).waitFor()
    const [its, over] = [await start.boundingBox(), await page.locator('.said').boundingBox()]
    assert.ok(
      its && over && its.y + its.height <= over.y,
      `Start run ends at ${its!.y + its!.height}, and the message begins at ${over!.y}`,
    )
  },
}

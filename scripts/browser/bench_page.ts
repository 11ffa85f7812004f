// The page of the bench is tried in a browser, screen by screen, by the names that people and screen readers know.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import {
  type Bench,
  button,
  card,
  desk,
  endRuns,
  goTo,
  holdToContinue,
  ids,
  motionButton,
  needOf,
  openBench,
  openForm,
  phone,
  seen,
  small,
  widthOf,
} from './bench.ts'

export type Check = (bench: Bench) => Promise<void>

const screens = [
  'bench',
  'bench/add',
  'devices/shaker-1',
  'runs',
  'runs/new',
  'workflows/seal-and-spin',
  'queue',
  'deck',
  'teach',
  'events',
  'system',
  'system/who',
  'lab',
]
// The fourth is a desk of 1280x800 at 200 %.
const sizes = [small, { width: 360, height: 740 }, phone, { width: 640, height: 400 }, desk]
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const benchPageChecks: Record<string, Check> = {
  async 'a browser without a key is asked for one, told when it is wrong, and not asked again'(bench) {
    const page = await bench.open('/', { withKey: false })
    await page.getByLabel('API key').fill('bk_wrong')
    await button(page, 'Connect').click()
    await page.getByText('This key is wrong, expired or revoked').waitFor()
    assert.equal(await page.getByLabel('API key').inputValue(), 'bk_wrong', 'the field keeps what was typed')
    await page.getByLabel('API key').fill(bench.api_key)
    await button(page, 'Connect').click()
    await card(page, 'shaker-1').waitFor()
    await page.reload()
    await card(page, 'shaker-1').waitFor()
    await go(page, 'System')
    await button(page, 'Forget the key').click()
    await page.getByLabel('API key').waitFor()
  },

  async 'a key in the address opens the bench and is gone from the address'(bench) {
    const page = await bench.open(`/#k=${bench.api_key}`, { withKey: false })
    await card(page, 'shaker-1').waitFor()
    assert.equal(new URL(page.url()).hash, '')
  },

  async 'a browser asks for access, shows its code, and an admin approves it on the page'(bench) {
    const [stranger, admin] = [await bench.open('/', { withKey: false }), await bench.open('/')]
    await button(stranger, 'Request access').click()
    const said = await stranger.getByText(/^Your code is /).textContent()
    const code = /^Your code is (\S+)\./.exec(said!)![1]!
    const need = needOf(admin).filter({ hasText: code })
    await need.getByRole('button', { name: 'Approve' }).click()
    await card(stranger, 'shaker-1').waitFor()
  },

  async 'an operation is started from its form, shows the time that is left, is ended early, and is stopped'(bench) {
    // The scene before may have left the shaker ready; the page must not show that before the button has initialized it.
    await bench.ask('POST', '/api/devices/shaker-1/stop')
    const page = await bench.open('/', { width: 800, height: 480 })
    const shaker = card(page, 'shaker-1')
    await shaker.getByRole('button', { name: 'Initialize' }).click()
    await shaker.getByText(/^\d+\.\d °C/).waitFor()
    await shaker.getByText('ready', { exact: true }).waitFor()
    await bench.ask('POST', '/api/devices/shaker-1/lock_plate')
    const sheet = await openForm(page, 'shaker-1', 'Shake')
    await sheet.getByLabel('speed (rpm)', { exact: true }).fill('500')
    await sheet.getByLabel('duration (s)', { exact: true }).fill('600')
    const { y, height } = (await button(sheet, 'Start').boundingBox())!
    assert.ok(y > 66 && y + height <= 480, 'Start is in view')
    await button(sheet, 'Start').click()
    await sheet.waitFor({ state: 'detached' })
    await shaker.getByText(/\d+:\d\d left/).waitFor()
    await shaker.getByRole('button', { name: 'End early: Shake' }).click()
    await shaker.getByText(/ended after [\d.]+ s of 600 s/i).waitFor()
    // The form has the last values, and Enter starts.
    await openForm(page, 'shaker-1', 'Shake')
    await page.keyboard.press('Enter')
    await shaker.getByText(/\d+:\d\d left/).waitFor()
    await shaker.getByRole('button', { name: 'Stop', exact: true }).click()
    await shaker.getByText('stopped', { exact: true }).waitFor()
  },

  async 'a value that the device cannot take is told at the form, and nothing is sent'(bench) {
    await bench.ask('POST', '/api/devices/shaker-1/initialize')
    const page = await bench.open('/')
    const shaker = card(page, 'shaker-1')
    const sheet = await openForm(page, 'shaker-1', 'Shake')
    await sheet.getByLabel('speed (rpm)', { exact: true }).fill('99999')
    await button(sheet, 'Start').click()
    await shaker.getByText(/speed \(rpm\) must be from/).waitFor()
  },

  async 'STOP ALL acts when it is pressed down, and motion buttons come back when somebody has held the button'(bench) {
    const page = await bench.open('/')
    await card(page, 'shaker-1').waitFor()
    const { x, y, width, height } = (await button(page, 'STOP ALL').boundingBox())!
    await page.mouse.move(x + width / 2, y + height / 2)
    await page.mouse.down()
    for (const id of ids) await card(page, id).getByText('stopped', { exact: true }).waitFor()
    await page.mouse.up()
    await button(page, 'Hold to continue').waitFor()
    const initialize = card(page, 'shaker-1').getByRole('button', { name: 'Initialize' })
    assert.equal(await initialize.isDisabled(), true)
    await holdToContinue(page)
    assert.equal(await initialize.isDisabled(), false)
    assert.equal((await bench.ask('GET', '/api/devices/shaker-1')).state, 'stopped', 'holding the button moves and clears nothing')
    await button(page, 'Initialize all').click()
    await button(page, 'The devices may move: press again').click()
    for (const id of ids) await card(page, id).getByText('ready', { exact: true }).waitFor()
    await button(page, 'Initialize all').waitFor({ state: 'detached' })
  },

  async 'a fault leads to its card, and out again by the page alone'(bench) {
    await bench.ask('POST', '/api/devices/shaker-1/initialize')
    await bench.ask('POST', '/api/devices/shaker-1/lock_plate')
    const page = await bench.open('/')
    const shaker = card(page, 'shaker-1')
    const sheet = await openForm(page, 'shaker-1', 'Shake')
    await sheet.getByLabel('speed (rpm)', { exact: true }).fill('500')
    await sheet.getByLabel('duration (s)', { exact: true }).fill('600')
    await button(sheet, 'Start').click()
    await shaker.getByText(/\d+:\d\d left/).waitFor()
    // Not before: a shaker that stands still tells of its jam too, and then nothing can be started on it.
    await bench.ask('POST', '/api/sim/devices/shaker-1/faults', { fault: 'jam' })
    const need = needOf(page, /Fault on shaker-1/)
    await need.waitFor()
    assert.match(await page.title(), /^\(\d+\) benchd$/)
    await shaker.getByText('Last messages on the wire').click()
    await shaker.getByRole('listitem').filter({ hasText: '→' }).first().waitFor()
    await bench.ask('DELETE', '/api/sim/devices/shaker-1/faults')
    // A real one too may report its error until it is initialized: cleared before that, the fault is back two seconds later.
    await need.getByRole('button', { name: 'Clear fault' }).click()
    await page.getByText('Fault cleared').waitFor()
    while ((await bench.ask('GET', '/api/devices/shaker-1')).state !== 'faulted') await page.waitForTimeout(100)
    await shaker.getByText('fault', { exact: true }).waitFor()
    assert.equal(await shaker.getByRole('button', { name: 'Initialize' }).isDisabled(), false, 'its card leads out too')
    await need.getByRole('button', { name: 'Initialize shaker-1' }).click()
    await need.waitFor({ state: 'detached' })
    await shaker.getByText('ready', { exact: true }).waitFor()
  },

  async 'a run is tried, started, held by a jam, decided about, and completes by the page alone'(bench) {
    await endRuns(bench)
    for (const id of ids) await bench.ask('POST', `/api/devices/${id}/initialize`)
    const page = await bench.open('/#/runs')
    await page.getByRole('link', { name: 'New run' }).click()
    await page.getByLabel('Workflow', { exact: true }).selectOption('seal-and-spin')
    assert.equal(await page.getByLabel('Mode').inputValue(), 'LIVE', 'where all is simulated, the run is seen on Bench and Deck')
    await button(page, 'Dry run').click()
    await page.getByText('The run completes.').waitFor()
    await page.getByRole('figure', { name: 'Timeline' }).waitFor()
    await bench.ask('POST', '/api/sim/devices/sealer-1/faults', { fault: 'jam' })
    await button(page, 'Start run').click()
    const need = needOf(page, /is held by an error/)
    await need.getByRole('button', { name: 'Retry', exact: true }).waitFor({ timeout: 180_000 })
    await bench.ask('DELETE', '/api/sim/devices/sealer-1/faults')
    const fault = page.getByRole('article', { name: /Fault on sealer-1/ })
    await fault.getByRole('button', { name: 'Initialize sealer-1' }).click()
    await fault.waitFor({ state: 'detached' })
    await need.getByRole('button', { name: 'Retry', exact: true }).click()
    await seen(page.getByRole('region', { name: 'Run of seal-and-spin' }), /completed, On the bench/, { timeout: 180_000 })
    await page.getByRole('figure', { name: 'Timeline' }).waitFor()
    await page.getByRole('list', { name: /Log/ }).getByText('The run has completed').waitFor()
  },

  async 'what came of a press is in view wherever the page is, and goes with its screen; a dry run comes into view'(bench) {
    const page = await bench.open('/#/system', { width: 800, height: 480 })
    const said = page.getByRole('status').locator('.notice')
    await button(page, 'Reload the configuration').click()
    await said.waitFor()
    const box = await said.boundingBox()
    assert.ok(box && box.y > 60 && box.y + box.height <= 480, JSON.stringify(box))
    await goTo(page, 'runs/new')
    await said.waitFor({ state: 'detached' })
    await page.getByLabel('Workflow', { exact: true }).selectOption('seal-and-spin')
    await page.getByLabel('Speed (rpm)').fill('fast')
    await button(page, 'Dry run').click()
    await said.waitFor()
    await page.keyboard.press('Escape')
    await said.waitFor({ state: 'detached' })
    await page.getByLabel('Speed (rpm)').fill('')
    await button(page, 'Dry run').click()
    const verdict = page.getByRole('region', { name: 'Dry run' }).getByRole('status')
    await verdict.waitFor()
    const at = await verdict.boundingBox()
    assert.ok(at && at.y > 60 && at.y + at.height <= 480, JSON.stringify(at))
  },

  async 'a run is paused, resumed and stopped, which takes two presses'(bench) {
    const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' })
    const page = await bench.open(`/#/runs/${execution_id}`)
    await button(page, 'Pause run').click()
    await button(page, 'Resume run').click()
    await button(page, 'Pause run').waitFor()
    await button(page, 'Stop run').click()
    await page.getByText('Stop run: press again').waitFor()
    await button(page, 'Stop run').click()
    await page.getByText(/aborted, Rehearse on simulators/).waitFor()
  },

  async 'a teachpoint is edited with a question about a large change, and undone'(bench) {
    const page = await bench.open('/#/teach')
    await button(page, 'pad_1').click()
    const edit = page.getByRole('region', { name: 'Teachpoint pad_1' })
    const first = edit.locator('input').first()
    const before = Number(await first.inputValue())
    assert.equal(await button(edit, 'Save').isDisabled(), true)
    await first.fill(String(before + 7))
    await button(edit, 'Save').click()
    await edit.getByText(/more than 5/).waitFor()
    await first.fill(String(before + 1))
    await button(edit, 'Save').click()
    // Somebody else is quicker: what the form was made from is not there any more.
    await edit.getByRole('button', { name: 'Undo the last change' }).waitFor()
    const { device_id, name, ...point } = await bench.ask('GET', '/api/teachpoints/arm-1/pad_1')
    await bench.ask('PUT', '/api/teachpoints/arm-1/pad_1', { ...point, coords: { ...(point.coords as object), x: before + 3 } })
    await first.fill(String(before + 2))
    await button(edit, 'Save').click()
    await seen(page, /changed meanwhile/)
    await page.reload()
    await button(page, 'pad_1').click()
    assert.equal(Number(await first.inputValue()), before + 3)
    await edit.getByRole('button', { name: 'Undo the last change' }).click()
    await seen(edit.getByRole('region', { name: 'History' }), `x ${before + 3},`)
    assert.equal(Number(await first.inputValue()), before + 1)
  },

  async 'on a tablet whose clock is a day ahead, or behind, readings are fresh and the last hour of events is there'(bench) {
    await bench.ask('POST', '/api/devices/shaker-1/initialize')
    await bench.ask('POST', '/api/sim/events', { event_name: 'CUSTOM.tablet.EMITTED' })
    for (const ahead_s of [86_400, -86_400]) {
      const page = await bench.open('/', { ahead_s })
      await seen(card(page, 'shaker-1'), /^\d+\.\d °C/)
      await card(page, 'shaker-1').getByText(/ ago$/).waitFor({ state: 'hidden' })
      await go(page, 'Events')
      await seen(page.getByRole('list', { name: /Events/ }), /tablet/)
      await page.context().close()
    }
  },

  async 'events are sentences, can be searched, and are never markup'(bench) {
    const page = await bench.open('/#/events')
    await page.getByRole('region', { name: 'Events' }).waitFor()
    const context = { message: '<img src=x onerror=alert(1)>' }
    for (let n = 1; n <= 3; n++) await bench.ask('POST', '/api/sim/events', { event_name: `CUSTOM.n${n}.EMITTED`, context })
    await seen(page, '<img src=x onerror=alert(1)>')
    assert.equal(await page.locator('main img').count(), 0)
    await page.getByLabel('Search').fill('CUSTOM.n2')
    const shown = page.getByRole('list', { name: /Events/ }).getByRole('listitem')
    assert.equal(await shown.count(), 1)
    // The page keeps the newest alone, however many there are: its memory does not grow.
    await page.getByLabel('Search').fill('')
    await bench.ask('POST', '/api/sim/load', { rate: 1000, seconds: 1 })
    await shown.filter({ hasText: '"n": 999' }).waitFor()
    assert.equal(await shown.count(), 300)
  },

  async 'when the service goes away the page says so, greys what is old, and comes back by itself'(bench) {
    const page = await bench.open('/')
    await card(page, 'shaker-1').waitFor()
    await bench.restart(async () => {
      await page.getByText(/no connection for/).waitFor()
      assert.equal(await motionButton(card(page, 'shaker-1')).isDisabled(), true)
      assert.equal(await button(page, 'STOP ALL').isDisabled(), false)
    })
    await page.locator('[data-link=live]').waitFor()
  },

  async 'a revoked key is told to the person, who can enter another'(bench) {
    const { api_key, key_id } = await bench.ask('POST', '/api/keys', { name: 'short-lived', scope: 'read' })
    const page = await bench.open(`/#k=${api_key}`, { withKey: false })
    await card(page, 'shaker-1').waitFor()
    assert.equal(await motionButton(card(page, 'shaker-1')).isDisabled(), true, 'a key that may only read')
    await bench.ask('DELETE', `/api/keys/${key_id}`)
    await page.getByText('wrong, expired or revoked').waitFor()
    await page.getByLabel('API key').waitFor()
  },

  async 'every screen fits the bench screen, a phone and a desk, with the stop in view'(bench) {
    const { incidents } = (await bench.ask('GET', '/api/incidents?acknowledged=false')) as { incidents: { incident_id: string }[] }
    for (const { incident_id } of incidents) await bench.ask('POST', `/api/incidents/${incident_id}/acknowledge`, {})
    for (const id of ids) await bench.ask('POST', `/api/devices/${id}/initialize`)
    for (const { width: width_px, height } of sizes) {
      const page = await bench.open('/', { width: width_px, height })
      await card(page, 'arm-1').waitFor()
      if (width_px === 800) {
        await button(card(page, 'shaker-1'), 'Shake').waitFor()
        assert.ok(Number(await page.evaluate('document.documentElement.scrollHeight')) <= height, 'four devices need no scrolling')
      }
      for (const screen of screens) {
        await goTo(page, screen)
        await page.getByRole('main').locator('section, article').first().waitFor()
        assert.ok((await widthOf(page)) <= width_px, `${screen} is wider than ${width_px}`)
        assert.ok(
          await page.getByRole('navigation').evaluate((nav) => nav.scrollWidth <= nav.clientWidth),
          `a screen is hidden at ${width_px}`,
        )
        const { x, y, width: wide, height: high } = (await button(page, 'STOP ALL').boundingBox())!
        assert.ok(x >= 0 && y >= 0 && x + wide <= width_px && y + high <= height, `STOP ALL is out of view on ${screen}`)
      }
      await page.emulateMedia({ media: 'print' })
      assert.equal(await button(page, 'STOP ALL').count(), 0, 'paper has no buttons')
      await page.emulateMedia({ media: null })
      await page.evaluate("document.querySelector('.link').textContent = 'no connection for 3600 s · simulated 1000×'")
      const hidden = await page.getByRole('navigation').evaluate((nav) => nav.scrollWidth - nav.clientWidth)
      assert.ok(hidden <= 0, `a long word about the connection hides a screen at ${width_px}`)
    }
  },

  async 'the longest id stays in its card and in the lists of every screen, and the card shows the name that people use'() {
    const device_id = 'x'.repeat(64)
    const name = 'The shaker by the window'
    const bench = await openBench({ devices: [{ device_id, name, driver: 'bioshake', transport: { kind: 'simulated' } }] })
    try {
      const page = await bench.open('/', { width: 390, height: 844 })
      await card(page, device_id).getByText(`${name} · BioShake`).waitFor()
      const { x, width: wide } = (await card(page, device_id).getByText('not initialized').boundingBox())!
      assert.ok(x + wide <= 390, 'its state is in view')
      for (const screen of [...screens, `devices/${device_id}`]) {
        await goTo(page, screen)
        await page.getByRole('main').locator('section, article').first().waitFor()
        assert.ok((await widthOf(page)) <= 390, `${screen} is as wide as the phone`)
      }
    } finally {
      await bench.close()
    }
  },

  async 'no screen has a finding of axe, light on a desk or dark on a phone, and every target is large enough for a finger'(bench) {
    await bench.ask('POST', '/api/devices/shaker-1/initialize')
    for (const dark of [false, true]) {
      const page = await bench.open('/', { dark, ...(dark && { width: 390, height: 844 }) })
      await card(page, 'arm-1').waitFor()
      const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' })
      for (const screen of [...screens, `runs/${execution_id}`]) {
        await goTo(page, screen)
        await page.getByRole('main').locator('section, article').first().waitFor()
        if (screen === 'bench') await openForm(page, 'shaker-1', 'Shake')
        if (screen === 'teach') await button(page, 'pad_1').click()
        assert.deepEqual(await findingsOf(page), [], `${screen}, ${dark ? 'dark' : 'light'}`)
        assert.deepEqual(await smallTargets(page), [], screen)
      }
    }
  },
}

/** The findings of axe on the page as it is now. */
export async function findingsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe)
  return page.evaluate(
    '(async () => (await axe.run()).violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))()',
  )
}

/** The targets that are too small for a finger. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(
    '[...document.querySelectorAll("button, a, select, summary, input:not([type=file])")].filter((one) => one.getClientRects().length && (one.getBoundingClientRect().height < 48 || one.getBoundingClientRect().width < 48)).map((one) => one.outerHTML.slice(0, 120))',
  )
}

async function go(page: Page, screen: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: screen }).click()
}

// The cards of devices and their sheets: a refusal with its next step, last values and presets that every browser has, and failures that are solved.

import assert from 'node:assert/strict'
import { type Bench, button, card, endRuns, ids, needOf, openForm, small } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

export const cardChecks: Record<string, Check> = {
  async 'a refused operation is a whole sentence in red on its card, with the next step as a button, and the plate lock is a badge'(bench) {
    await ready(bench)
    await bench.ask('POST', '/api/devices/shaker-1/unlock_plate')
    const page = await bench.open('/', { ...small, touch: true })
    const shaker = card(page, 'shaker-1')
    await shaker.getByRole('listitem').getByText('plate unlocked').waitFor()
    const sheet = await openForm(page, 'shaker-1', 'Shake')
    await sheet.getByLabel('speed (rpm)', { exact: true }).fill('400')
    await sheet.getByLabel('duration (s)', { exact: true }).fill('5')
    await button(sheet, 'Start').tap()
    const refused = shaker.getByText(/^Shake was refused: the plate is not locked \(.*\); lock the plate first\./)
    await refused.waitFor()
    assert.ok(await refused.evaluate((its) => its.scrollWidth <= its.clientWidth), 'no part of the sentence is cut off')
    assert.equal(await page.getByRole('status').locator('.notice').count(), 0, 'nothing covers the buttons')
    assert.deepEqual(await findingsOf(page), [])
    // The remedy is the filled button, and stands there once.
    assert.equal(await shaker.getByRole('button', { name: 'Lock plate', exact: true }).getAttribute('class'), 'main')
    await button(shaker, 'Lock plate').tap()
    await shaker.getByRole('listitem').getByText('plate locked').waitFor()
    await refused.waitFor({ state: 'detached' })
    assert.equal(await button(shaker, 'Lock plate').count(), 0, 'what would do nothing is not in front')
    await (await openForm(page, 'shaker-1', 'Shake')).getByRole('button', { name: 'Start' }).tap()
    await shaker.getByText(/shook at 400 rpm for 5 s/i).waitFor()
  },

  async 'a form begins with the last values of anybody, never with the minimum; its menu and form work by keyboard'(bench) {
    await ready(bench)
    await bench.ask('POST', '/api/devices/sealer-1/seal', { temperature: 165, duration: 2.5 })
    const page = await bench.open('/', small)
    const sealer = card(page, 'sealer-1')
    const seal = await openForm(page, 'sealer-1', 'Seal')
    assert.deepEqual(await valuesOf(seal), ['165', '2.5'], 'as another client has used them')
    await page.keyboard.press('Escape')
    await seal.waitFor({ state: 'detached' })
    // The form came from a button in front, or from the menu where the card was not whole yet.
    assert.match(String(await page.evaluate('document.activeElement.textContent')), /^(Seal|More)$/, 'the button has the focus again')
    await bench.ask('POST', '/api/devices/sealer-1/set_temperature', { temperature: null })
    await sealer.getByText(/target|Heating to/).waitFor({ state: 'detached' })
    const warm = await openForm(page, 'sealer-1', 'Set temperature')
    assert.deepEqual(await valuesOf(warm), [''], 'nobody has set one, and the lowest is not what a person wants')
    await warm
      .getByText('20 to 235 °C')
      .or(warm.getByText(/^\d+ to \d+ °C$/))
      .waitFor()
    await page.keyboard.type('60')
    await page.keyboard.press('Enter')
    await sealer.getByText(/temperature set to 60 °C/i).waitFor()
    await button(sealer, 'More of sealer-1').focus()
    await page.keyboard.press('Enter')
    const menu = page.getByRole('dialog', { name: 'sealer-1', exact: true })
    await menu.waitFor()
    for (const name of ['Seal', 'Set temperature', 'Initialize', 'Reserve sealer-1', 'Stop sealer-1']) await button(menu, name).waitFor()
    assert.equal(await menu.evaluate((its) => its.contains(its.ownerDocument.activeElement)), true, 'the menu takes the focus')
    assert.deepEqual(await smallTargets(page), [])
    assert.deepEqual(await findingsOf(page), [])
    await page.keyboard.press('Escape')
    await menu.waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'More of sealer-1')
    // STOP ALL is above every sheet.
    await openForm(page, 'sealer-1', 'Seal')
    await button(page, 'STOP ALL').click({ trial: true })
    await bench.ask('POST', '/api/devices/sealer-1/set_temperature', { temperature: null })
  },

  async 'a preset that one browser saves fills the form of another, outlasts a restart, and is deleted'(bench) {
    await ready(bench)
    const first = await bench.open('/', small)
    const sheet = await openForm(first, 'shaker-1', 'Shake')
    await sheet.getByLabel('speed (rpm)', { exact: true }).fill('330')
    await sheet.getByLabel('duration (s)', { exact: true }).fill('fast')
    await sheet.getByLabel('Name of the preset').fill('night')
    await button(sheet, 'Save preset').click()
    await sheet.getByText('duration (s) must be a number').waitFor()
    await sheet.getByLabel('duration (s)', { exact: true }).fill('45')
    await button(sheet, 'Save preset').click()
    await button(sheet, 'night').waitFor()
    await first.context().close()
    await bench.restart(async () => {})
    await ready(bench)
    const second = await bench.open('/', { width: 390, height: 844, dark: true })
    const other = await openForm(second, 'shaker-1', 'Shake')
    await button(other, 'night').click()
    assert.deepEqual(await valuesOf(other), ['330', '45'])
    assert.deepEqual(await findingsOf(second), [])
    assert.deepEqual(await smallTargets(second), [])
    await button(other, 'Delete a preset').click()
    await button(other, 'Delete night').click()
    await button(other, 'Delete night').waitFor({ state: 'detached' })
    assert.deepEqual((await bench.ask('GET', '/api/devices/shaker-1/presets')).presets, [])
  },

  async 'a success covers what is below it for some seconds only, a refusal until somebody has read it'(bench) {
    const page = await bench.open('/#/system', { prepare: (page) => page.clock.install() })
    const said = page.getByRole('status').locator('.notice')
    await button(page, 'Reload the configuration').click()
    await said.waitFor()
    await page.clock.runFor(11_000)
    await said.waitFor({ state: 'detached' })
    await page.route('**/api/system/reload', (route) => route.fulfill({ status: 409, json: { detail: 'not now' } }))
    await button(page, 'Reload the configuration').click()
    await said.waitFor()
    await page.clock.runFor(60_000)
    await page.getByText('Not now.').waitFor()
  },

  async 'a failure that somebody has solved is one grey line that says by whom, and all are acknowledged together'(bench) {
    await endRuns(bench)
    await ready(bench)
    await acknowledgeAll(bench)
    const page = await bench.open('/')
    for (let n = 0; n < 2; n++) {
      await bench.ask('POST', '/api/sim/devices/sealer-1/faults', { fault: 'jam' })
      await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
      const need = needOf(page, /is held by an error/)
      await need.getByRole('button', { name: 'Retry', exact: true }).waitFor({ timeout: 180_000 })
      // One button alone is filled, the likeliest.
      assert.deepEqual(await need.locator('button.main').allTextContents(), ['Initialize sealer-1'])
      await bench.ask('DELETE', '/api/sim/devices/sealer-1/faults')
      await need.getByRole('button', { name: 'Initialize sealer-1' }).click()
      const ready = needOf(page, /is held by an error/).locator('button.main', { hasText: /^Retry$/ })
      await ready.waitFor()
      await need.getByRole('button', { name: 'Abort thread' }).click()
      await need.waitFor({ state: 'detached' })
      await page.getByRole('region', { name: 'Solved' }).getByText('solved by the demo').nth(n).waitFor()
      await endRuns(bench)
    }
    const solved = page.getByRole('region', { name: 'Solved' })
    assert.equal(await solved.getByText(/remove|initialize/i).count(), 0, 'no order is left there')
    assert.deepEqual(await findingsOf(page), [])
    await button(solved, 'Acknowledge all').click()
    await solved.waitFor({ state: 'detached' })
    const { incidents } = (await bench.ask('GET', '/api/incidents?acknowledged=false')) as { incidents: { severity: string }[] }
    assert.deepEqual(
      incidents.filter(({ severity }) => severity === 'ERROR'),
      [],
    )
  },
}

/** All devices of the demo, initialized. */
async function ready({ ask }: Bench): Promise<void> {
  for (const id of ids) await ask('POST', `/api/devices/${id}/initialize`)
}

async function acknowledgeAll({ ask }: Bench): Promise<void> {
  const { incidents } = (await ask('GET', '/api/incidents?acknowledged=false')) as { incidents: { incident_id: string }[] }
  for (const { incident_id } of incidents) await ask('POST', `/api/incidents/${incident_id}/acknowledge`, {})
}

/** The values of the fields of a form. */
async function valuesOf(sheet: ReturnType<typeof card>): Promise<string[]> {
  const fields = await sheet.locator('form.fields input').all()
  return Promise.all(fields.map((field) => field.inputValue()))
}

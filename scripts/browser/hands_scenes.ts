// A bench without a robot: a person carries the plates, and answers on the touch screen of the bench.

import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { type Bench, button, openBench, picture, scan } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

const screen = { width: 800, height: 480, touch: true }

export const handsChecks: Record<string, Check> = {
  'from a fresh bench to a completed run by touch alone, and each task has its instruction and one large button': withHands(
    {},
    async (bench) => {
      const page = await bench.open('/', screen)
      await tap(page, 'Initialize all')
      await tap(page, 'The devices may move: press again')
      await button(page, 'Initialize all').waitFor({ state: 'detached' })
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Runs' }).tap()
      await page.getByRole('link', { name: 'New run' }).tap()
      await page.getByLabel('Workflow', { exact: true }).selectOption('shake-by-hand')
      await seenWhole(page, button(page, 'Start run'), 48)
      await tap(page, 'Start run')
      const place = task(page, /Place plate/)
      await place.getByText('Put plate at pad_1.').waitFor()
      await picture(page, 'hands-place')
      await tap(place, 'Placed')
      for (const way of ['from pad_1 to shaker_in', 'from shaker_in to sealer_in', 'from sealer_in to pad_1']) {
        const carry = task(page, /Carry plate/).filter({ hasText: `Take plate ${way}.` })
        await carry.waitFor()
        await seenWhole(page, button(carry, 'Done'))
        await picture(page, `hands-carry ${way}`)
        await tap(carry, 'Done')
        await carry.waitFor({ state: 'detached' })
      }
      await page
        .getByRole('region', { name: 'Run of shake-by-hand' })
        .getByText(/completed, On the bench/)
        .waitFor()
    },
  ),

  'a plate is put elsewhere, cannot be carried, and its task is shown on every screen': withHands({}, async (bench) => {
    const page = await begun(bench)
    const carry = task(page, /Carry plate/)
    for (const screen of ['bench', 'runs', 'deck', 'teach', 'events', 'system']) {
      await page.evaluate(`location.hash = '#/${screen}'`)
      await page.getByRole('main').locator('section:not(.needs), article:not(.need)').first().waitFor()
      await seenWhole(page, button(carry, 'Done'))
    }
    await tap(carry, 'Cannot')
    await tap(carry, 'It does not fit')
    await seenWhole(page, button(carry, 'plate cannot be carried'), 48)
    assert.deepEqual(await findingsOf(page), [])
    assert.deepEqual(await smallTargets(page), [])
    await picture(page, 'hands-cannot')
    await tap(carry, 'plate cannot be carried')
    const held = page.getByRole('article', { name: /plate is held by an error/ })
    await held.getByText(/It does not fit/).waitFor()
    await tap(held, 'Retry')
    await tap(carry, 'Put elsewhere')
    assert.deepEqual(await findingsOf(page), [])
    assert.deepEqual(await smallTargets(page), [])
    await tap(carry, 'pad_2: free')
    await picture(page, 'hands-elsewhere')
    await tap(carry, 'plate stands at pad_2: press again')
    await carry.getByText('Take plate from pad_2 to shaker_in.').waitFor()
    await tap(carry, 'Done')
    await carry.getByText('Take plate from shaker_in to sealer_in.').waitFor()
  }),

  'a scanner answers with Enter, a wrong plate is refused beside the button, and a plate is taken before it is put down': withHands(
    { confirm: 'twice', ask_barcode: true },
    async (bench) => {
      const page = await begun(bench, [{ group_id: 'g1', members: { plate: { barcode: 'P-1' } } }])
      const carry = task(page, /Carry/)
      const field = carry.getByLabel(/Barcode that was read of/)
      await button(carry, 'Taken').waitFor()
      assert.equal(await button(carry, 'Taken').isDisabled(), true, 'nothing was scanned yet')
      // Nobody has touched the field: it has the focus by itself.
      await page.keyboard.type('P-2')
      await page.keyboard.press('Enter')
      const refused = carry.getByRole('alert').filter({ hasText: 'P-2 was read' })
      await refused.waitFor()
      await seenWhole(page, refused)
      await picture(page, 'hands-refused')
      assert.equal(await field.inputValue(), '', 'the next scan begins in an empty field')
      await field.fill('P-1')
      await page.keyboard.press('Enter')
      await button(carry, 'Done').waitFor()
      await carry.getByText(/Put .*plate down at shaker_in/).waitFor()
      await picture(page, 'hands-taken')
      await bench.restart(async () => {})
      await page.locator('[data-link=live]').waitFor()
      await carry.getByText('Shown again after a restart').waitFor()
      assert.equal(await carry.count(), 1, 'and once')
      assert.equal(await page.getByText(/Nobody knows where/).count(), 0)
      assert.deepEqual(await findingsOf(page), [])
      await picture(page, 'hands-again')
      await field.fill('P-1')
      await tap(carry, 'Done')
      await tap(page.getByRole('region', { name: 'Needs you' }), 'Resume run')
      await carry.getByText(/from shaker_in to sealer_in/).waitFor()
    },
  ),

  'a scanner that types fills the barcode of placed labware although its field has no focus, and presses nothing': withHands(
    {},
    async (bench) => {
      for (const id of ['shaker-1', 'sealer-1', 'hands']) await bench.ask('POST', `/api/devices/${id}/initialize`)
      const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'shake-by-hand', run_mode: 'LIVE' })
      const page = await bench.open(`/#/runs/${execution_id}`, screen)
      const place = task(page, /Place plate/)
      const field = place.getByLabel('Barcode that was read of plate')
      await field.waitFor()
      await seenWhole(page, button(place, 'Placed'))
      assert.equal(await page.evaluate('document.activeElement.tagName'), 'BODY')
      // A button that has the focus is not pressed by the Enter of the scan.
      await button(place, 'Placed').focus()
      await scan(page, 'P-9')
      assert.equal(await field.inputValue(), 'P-9')
      await picture(page, 'hands-scanned')
      assert.deepEqual(await findingsOf(page), [])
      assert.equal(await place.count(), 1, 'the task still waits')
      await tap(place, 'Placed')
      await task(page, /Carry plate/)
        .getByText(/barcode P-9/)
        .waitFor()
    },
  ),

  'the address in a message opens the page at its task, and answers nothing': withHands({}, async (bench) => {
    await (await begun(bench)).context().close()
    const { steps } = (await bench.ask('GET', '/api/operator/steps')) as { steps: { step_id: string; execution_id: string }[] }
    const [step] = steps
    const page = await bench.open(`/#/runs/${step!.execution_id}/${step!.step_id}`, screen)
    const carry = task(page, /Carry plate/)
    await button(carry, 'Done').waitFor()
    await page.waitForFunction(`document.activeElement.className === 'answers'`)
    assert.deepEqual((await bench.ask('GET', '/api/operator/steps')).steps, steps, 'the task still waits')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('The task of this link waits no longer').waitFor()
  }),
}

/** A check on a bench of its own whose person has these settings. */
function withHands(hands: object, check: Check): Check {
  return async () => {
    const bench = await openBench({ hands })
    try {
      await check(bench)
      assert.deepEqual(bench.complaints, [])
    } finally {
      await bench.close()
    }
  }
}

/** The page of a run whose first task is shown. */
async function begun(bench: Bench, groups?: object[]): Promise<Page> {
  for (const id of ['shaker-1', 'sealer-1', 'hands']) await bench.ask('POST', `/api/devices/${id}/initialize`)
  const order = { workflow: 'shake-by-hand', run_mode: 'LIVE', ...(groups && { groups }) }
  const { execution_id } = await bench.ask('POST', '/api/submissions', order)
  const page = await bench.open(`/#/runs/${execution_id}`, screen)
  const place = task(page, /Place/)
  if (groups) {
    await place.getByLabel(/Barcode that was read/).fill('P-1')
    await page.keyboard.press('Enter')
  } else await tap(place, 'Placed')
  await task(page, /Carry/).waitFor()
  return page
}

function task(page: Page, name: RegExp): Locator {
  return page.getByRole('region', { name: 'Needs you' }).getByRole('article', { name })
}

async function tap(within: Page | Locator, name: string): Promise<void> {
  await button(within, name).tap()
}

/** Fails unless the whole of it is in view without scrolling, and a button is large enough for a glove. */
async function seenWhole(page: Page, what: Locator, least_px = 64): Promise<void> {
  await what.waitFor()
  const box = (await what.boundingBox())!
  const { width, height } = page.viewportSize()!
  const isInView = box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height
  assert.ok(isInView, `it is not in view: ${JSON.stringify(box)}`)
  if ((await what.getAttribute('role')) !== 'alert') assert.ok(box.height >= least_px, `it is ${box.height} px high`)
}

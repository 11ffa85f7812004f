// The screen Queue in a browser: adding from New run, moving by buttons and by dragging, and resuming after a pause.

import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { button, endRuns, goTo, phone, picture, small, widthOf } from './bench.ts'
import { type Check, findingsOf } from './bench_page.ts'

/** Simulators of its own, whatever the scenes before left on the bench. */
const submission = { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' }

export const queueChecks: Record<string, Check> = {
  async 'a run is added to the queue, moved, started, and the queue is paused and resumed'(bench) {
    await endRuns(bench)
    await bench.ask('POST', '/api/queue/pause')
    await bench.ask('POST', '/api/queue', { submission: { ...submission, tags: ['first'] } })
    const page = await bench.open('/#/runs/new', small)
    await page.getByText('In the queue').click()
    await page.getByLabel('Begins').selectOption('not before a time')
    assert.equal(await button(page, 'Add to the queue').isDisabled(), true, 'the time is not given yet')
    await page.getByLabel('Not before').fill('2099-01-31T22:30')
    await button(page, 'shaker-1').click()
    await page.getByLabel('Labware that must stand here').fill('P-0041, pad_1')
    await page.getByLabel('If the run fails').selectOption('go on with the next run')
    await page.getByLabel('the next runs').selectOption('may begin before it')
    assert.deepEqual(await findingsOf(page), [])
    assert.ok((await widthOf(page)) <= small.width, 'the form is wider than the screen')
    await picture(page, 'queue-form')
    await button(page, 'Add to the queue').click()
    await page.getByText('It starts at').waitFor()
    assert.equal(await entriesOf(page).count(), 2)
    const asked = { start_at: new Date('2099-01-31T22:30').getTime() / 1000, on_failure: 'go_on', may_be_passed: true }
    const requires = { devices: ['shaker-1'], labware: ['P-0041', 'pad_1'] }
    const { entries } = (await bench.ask('GET', '/api/queue')) as { entries: { entry_id: string }[] }
    assert.deepEqual({ ...entries[1], ...asked, requires }, entries[1])
    await entriesOf(page).nth(1).getByText('needs shaker-1 and P-0041 and pad_1').waitFor()
    await button(page, 'Another start for number 2').click()
    assert.equal(await page.getByLabel('Not before').inputValue(), '2099-01-31T22:30')
    await page.getByLabel('Begins').selectOption(entries[0]!.entry_id)
    await button(page, 'Save the start').click()
    await page.getByText(/It starts (when|after)/).waitFor()
    await picture(page, 'queue-start')
    await button(page, 'Another start for number 2').click()
    await page.getByLabel('Begins').selectOption('not before a time')
    await page.getByLabel('Not before').fill('2099-01-31T22:30')
    await button(page, 'Save the start').click()
    await page.getByText('It starts at').waitFor()
    await button(page, 'Move number 2 up').click()
    await entriesOf(page).first().getByText('It starts at').waitFor()
    await entriesOf(page).nth(1).dragTo(entriesOf(page).first())
    await entriesOf(page).nth(1).getByText('It starts at').waitFor()
    await button(page, 'Move number 1 down').click()
    await entriesOf(page).first().getByText('It starts at').waitFor()
    await twice(page, 'Remove number 1', 'Remove it: press again')
    await entriesOf(page).nth(1).waitFor({ state: 'detached' })
    await page.getByText('The queue is paused', { exact: true }).waitFor()
    await button(page, 'Resume the queue').click()
    await page.getByText('It runs.').waitFor()
    await button(page, 'Pause the queue').click()
    await button(page, 'Resume the queue').waitFor()
    await bench.ask('POST', '/api/queue', { submission })
    await page.getByText('The queue is paused.').waitFor()
    await twice(page, 'Remove all', 'Remove every entry that waits: press again')
    await endRuns(bench)
    await page.getByText('No run waits.').waitFor()
    await bench.ask('POST', '/api/queue/resume')
  },

  async 'an entry of the queue is started by its button on a phone'(bench) {
    await endRuns(bench)
    await bench.ask('POST', '/api/queue/pause')
    await bench.ask('POST', '/api/queue', { submission })
    const page = await bench.open('/', phone)
    await goTo(page, 'runs')
    await page.getByRole('link', { name: 'Queue', exact: true }).click()
    await button(page, 'Start number 1 now').click()
    await page.getByText('It runs.').waitFor()
    await endRuns(bench)
    await bench.ask('POST', '/api/queue/resume')
  },
}

function entriesOf(page: Page): Locator {
  return page.getByRole('list', { name: 'Entries of the queue' }).getByRole('listitem')
}

/** Presses a button that is pressed twice. */
async function twice(page: Page, name: string, again: string): Promise<void> {
  await button(page, name).click()
  await button(page, again).click()
}

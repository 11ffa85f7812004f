// Changes of an open run, and labware that a person brings and takes, by the page alone.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { demoTeachpoints } from '../../src/examples/demo_bench.ts'
import { standing, workflowOf } from '../../src/testing/documents.ts'
import { type Bench, endRuns, needOf, phone, seen, small, widthOf } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

const shake = [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }]
const methods = { note: [{ emit: 'noted' }], shake, ask: [{ instruct: 'look at the plate' }], extra: [{ emit: 'extra' }] }
const onDemo = { topology: 'demo', methods }

/** The plate waits for an event, so that there is time to change what lies ahead. */
const steps = [{ wait_for: 'go' }, { method: 'note' }, { method: 'ask' }]
const threads = { plate: { ...standing('pad_1'), steps }, lid: { ...standing('pad_3'), steps: [] } }
const labware = { plate: { type: '96-well' }, lid: { type: 'lid' } }
const patient = workflowOf('patient', threads, { ...onDemo, labware, start: ['plate'] })

/** The shaker is needed later, so that it can be stopped before. */
const willShake = workflowOf('will-shake', { plate: { ...standing('pad_1'), steps: [{ wait_for: 'go' }, { method: 'shake' }] } }, onDemo)

const shakesFirst = workflowOf(
  'shakes-first',
  { plate: { ...standing('pad_1'), steps: [{ method: 'shake' }, { wait_for: 'go' }] } },
  onDemo,
)

const spin = [{ do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 60 } }]
const plate = (at: string, ...names: string[]) => ({ ...standing(at), steps: names.map((method) => ({ method })) })
const severalPlates = workflowOf(
  'several-plates',
  { one: plate('pad_1', 'shake', 'spin'), two: plate('pad_2', 'spin', 'shake'), three: plate('pad_3', 'shake', 'spin') },
  { topology: 'demo', methods: { shake, spin } },
)
const figures = /^Planned \d+:\d\d, by dispatch alone \d+:\d\d, cannot be under \d+:\d\d \(bound\)\.$/

const manual = { start: { at: 'pad_2', mode: 'MANUAL_PLACE' }, end: { at: ['pad_2'], mode: 'MANUAL_REMOVE' } }
const byHand = workflowOf('by-hand', { plate: { ...manual, steps: [{ method: 'ask' }] } }, onDemo)

export const runChecks: Record<string, Check> = {
  async 'a step of an open run is skipped, a method inserted, a thread added and an event emitted, and the run does just that'(bench) {
    const { page, execution_id } = await begun(bench, patient)
    await page.getByText('Change this run').click()
    await page.getByLabel('Step', { exact: true }).selectOption('plate/ask')
    await page.getByRole('button', { name: 'Set the priority' }).click()
    await page.getByText('the run has the priority 9').waitFor()
    await page.getByRole('button', { name: 'Skip this step' }).click()
    await page.getByText(/plate\/ask is skipped/).waitFor()
    await page.getByLabel('Step', { exact: true }).selectOption('plate/note')
    await page.getByLabel('Insert', { exact: true }).selectOption('after')
    await page.getByLabel('Method', { exact: true }).selectOption('extra')
    await page.getByRole('button', { name: 'Insert method' }).click()
    await page.getByText(/after plate\/note/).waitFor()
    await page.getByLabel('Thread to add').selectOption('lid')
    await page.getByRole('button', { name: 'Add thread' }).click()
    await page.getByText(/thread lid is there/i).waitFor()
    await page.getByLabel('Note', { exact: true }).fill('lid pressed on')
    await page.getByRole('button', { name: 'Add note' }).click()
    await page.getByText(/note is in the record/i).waitFor()
    await page.getByLabel('Event', { exact: true }).fill('go')
    await page.getByRole('button', { name: 'Emit event' }).click()
    await page.getByText(/completed, Rehearse on simulators/).waitFor()
    const { events } = (await bench.ask('GET', `/events?execution_id=${execution_id}&limit=1000`)) as { events: Shown[] }
    const custom = events.filter(({ entity_type }) => entity_type === 'CUSTOM').map(({ context }) => context.event_name)
    assert.deepEqual(custom, ['go', 'noted', 'extra'])
    assert.ok(!events.some(({ entity_type }) => entity_type === 'OPERATOR'), 'nobody was asked: the step was skipped')
    const ended = events.filter(({ entity_type, status }) => entity_type === 'THREAD' && status === 'COMPLETED')
    assert.deepEqual(ended.map(({ context }) => context.thread_name).sort(), ['lid', 'plate'])
  },

  async 'labware that a person places, looks at, and takes away at the end, is said so on its card'(bench) {
    const { page } = await begun(bench, byHand, 'LIVE')
    const need = (title: RegExp) => page.getByRole('region', { name: 'Needs you' }).getByRole('article', { name: title })
    await seen(need(/Place plate/), 'Put plate at pad_2.')
    await need(/Place plate/)
      .getByRole('button', { name: 'Placed', exact: true })
      .click()
    await need(/Place plate/).waitFor({ state: 'detached' })
    await seen(need(/Manual step/), 'look at the plate')
    await need(/Manual step/)
      .getByRole('button', { name: 'Done' })
      .click()
    await need(/Remove plate/)
      .getByRole('button', { name: 'Removed', exact: true })
      .click()
    await need(/Remove plate/).waitFor({ state: 'detached' })
    await page.getByText(/completed, On the bench/).waitFor()
  },

  async 'labware with a barcode is placed with what was scanned; after a wrong one the field is empty for the next'(bench) {
    const { page } = await begun(bench, byHand, 'LIVE', [{ group_id: 'one', members: { plate: { barcode: 'P-1' } } }])
    const place = needOf(page, /Place plate/)
    const field = place.getByLabel('Barcode that was read of plate')
    await place.getByText('Its barcode must be P-1.').waitFor()
    for (const barcode of ['P-2', 'P-1']) {
      assert.equal(await field.inputValue(), '', 'the next scan begins in an empty field')
      await field.fill(barcode)
      await page.keyboard.press('Enter')
      if (barcode === 'P-2') await page.getByText(/wants the plate with the barcode P-1, and P-2 was read/).waitFor()
    }
    await place.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Removed', exact: true }).click()
    await page.getByText(/completed, On the bench/).waitFor()
  },

  async 'a run on a small screen is understood in its order: workflow, checks and end, plan and reality, log, step, report, and again'(
    bench,
  ) {
    const page = await bench.open('/#/runs/new', small)
    await page.getByLabel('Workflow', { exact: true }).selectOption('seal-and-spin')
    await page.getByRole('list', { name: 'Steps of the workflow' }).getByText('seal on sealer-1').waitFor()
    await page.getByText(/^Takes about \d+:\d\d, until /).waitFor()
    await page.getByLabel('Speed (rpm)').fill('600')
    await page.getByLabel('Tags').fill('scene, first')
    const start = page.getByRole('button', { name: 'Start run', exact: true })
    const { y, height } = (await start.boundingBox())!
    assert.ok(y + height <= small.height, 'Start is in view')
    await start.click()
    const run = page.getByRole('region', { name: 'Run of seal-and-spin' })
    await run.getByText('planned', { exact: true }).waitFor()
    const row = run.getByRole('figure', { name: 'Timeline' }).getByRole('button')
    await row.waitFor()
    await run.getByText(/completed, On the bench/).waitFor()
    const log = run.getByRole('list', { name: /^Log/ })
    await log.getByText('plate: shaking on shaker-1, 600 rpm, 5 s').waitFor()
    await log.getByText('plate: moved from pad_1 to shaker_in by arm-1').waitFor()
    assert.equal(await run.getByText('ACTION COMPLETED').count(), 0, 'engine states are hidden')
    await run.getByRole('button', { name: 'Show engine states' }).click()
    await run.getByText('ACTION COMPLETED').first().waitFor()
    await run.getByRole('button', { name: 'Hide engine states' }).click()
    // By keyboard: the last step, and the one before it.
    await row.focus()
    await page.keyboard.press('Enter')
    const sheet = page.getByRole('dialog', { name: /^plate: / })
    await sheet.getByText('✓ Done.').waitFor()
    await sheet.getByText(/moved from centrifuge_in to pad_1 by arm-1/i).waitFor()
    await sheet.getByRole('button', { name: 'Earlier step' }).click()
    await sheet.getByText(/spinning in centrifuge-1/i).waitFor()
    assert.deepEqual([await findingsOf(page), await smallTargets(page)], [[], []])
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
    await run.getByRole('link', { name: 'Run again' }).click()
    await page.getByText(/^The values are those of the run of .* Nothing has started/).waitFor()
    assert.equal(await page.getByText(/waits no longer/).count(), 0, 'the address has no task')
    assert.equal(await page.getByLabel('Speed (rpm)').inputValue(), '600')
    assert.equal(await page.getByLabel('Tags').inputValue(), 'scene, first')
    await page.getByLabel('Tags').fill('second')
    await start.click()
    await run.getByText(/completed, On the bench/).waitFor()
    await run.getByText('Compare with an earlier run').click()
    await run.getByText(/^This run took \d+:\d\d, the earlier one/).waitFor()
    await run.getByRole('row', { name: /^seal on sealer-1/ }).waitFor()
    assert.deepEqual([await findingsOf(page), await smallTargets(page)], [[], []])
    // A phone, and a desk of 1280x800 at 200 %.
    for (const size of [phone, { width: 640, height: 400 }]) {
      await page.setViewportSize(size)
      assert.ok((await widthOf(page)) <= size.width, `the run is wider than ${size.width}`)
    }
  },

  async 'a run of several plates is forecast with its plan, can be begun without one, and shows both with its chart'(bench) {
    await bench.ask('PUT', `/api/workflows/${severalPlates.name}`, severalPlates)
    const page = await bench.open('/#/runs/new', small)
    await page.getByLabel('Workflow', { exact: true }).selectOption(severalPlates.name)
    await page.getByLabel('Mode').selectOption('DEVICE_SIM')
    const dryRun = page.getByRole('region', { name: 'Dry run' })
    await page.getByRole('button', { name: 'Dry run', exact: true }).click()
    await dryRun.getByText(figures).waitFor()
    await page.getByText('Order of the labware').click()
    await page.getByLabel('Order', { exact: true }).selectOption('off')
    await page.getByLabel('Priority over other runs').fill('2')
    assert.deepEqual([await findingsOf(page), await smallTargets(page)], [[], []])
    await page.getByRole('button', { name: 'Dry run', exact: true }).click()
    await dryRun.getByText('The run completes.').waitFor()
    assert.equal(await dryRun.getByText(/^Planned/).count(), 0)
    await page.getByRole('button', { name: 'Start run', exact: true }).click()
    const run = page.getByRole('region', { name: `Run of ${severalPlates.name}` })
    await run.getByText(/completed, /).waitFor()
    assert.equal(await run.getByText(/A plan was made/).count(), 0)
    await run.getByRole('link', { name: 'Run again' }).click()
    await page.getByText('Order of the labware').click()
    assert.equal(await page.getByLabel('Order', { exact: true }).inputValue(), 'off')
    assert.equal(await page.getByLabel('Priority over other runs').inputValue(), '2')
    await page.getByLabel('Order', { exact: true }).selectOption('on')
    await page.getByRole('button', { name: 'Start run', exact: true }).click()
    await run.getByText(figures).waitFor()
    await run.getByText(/; ends about .* left/).waitFor()
    await run.getByText(/A plan was made: all labware is done in/).waitFor()
    assert.deepEqual([await findingsOf(page), await smallTargets(page)], [[], []])
    await run.getByText(/completed, /).waitFor()
  },

  async 'the forecast of a run is the same after a restart of the service'(bench) {
    const { page, execution_id } = await begun(bench, shakesFirst, 'LIVE')
    await page.getByText('planned', { exact: true }).waitFor()
    const forecast = await bench.ask('GET', `/api/executions/${execution_id}/forecast`)
    await bench.restart(async () => page.getByText(/no connection for/).waitFor())
    await page.locator('[data-link=live]').waitFor()
    assert.deepEqual(await bench.ask('GET', `/api/executions/${execution_id}/forecast`), forecast)
    await endRuns(bench)
  },

  async 'missing points and devices that are not ready stand before the start, each with its button'(bench) {
    await bench.ask('DELETE', '/api/teachpoints/arm-1/pad_2')
    await bench.ask('POST', '/api/devices/shaker-1/stop')
    const page = await bench.open('/#/runs/new', small)
    await page.getByLabel('Workflow', { exact: true }).selectOption('seal-and-spin')
    const checks = page.getByRole('list', { name: 'Checks' })
    await checks.getByText('1 teachpoint is missing for arm-1: pad_2.').waitFor()
    assert.equal(await checks.getByRole('link', { name: 'Teach them' }).getAttribute('href'), '#/teach')
    await checks.getByText(/shaker-1 \(stopped\)/).waitFor()
    await checks.getByRole('button', { name: /^Initialize/ }).click()
    await checks.getByText(/shaker-1 \(stopped\)/).waitFor({ state: 'detached' })
    await bench.ask('POST', '/api/teachpoints/bulk', { teachpoints: demoTeachpoints, overwrite: true })
  },

  async 'runs are found by text, state, tag and day, page by page'(bench) {
    const { execution_id } = await bench.ask('POST', '/api/submissions', {
      workflow: 'seal-and-spin',
      run_mode: 'PURE_SIM',
      tags: ['rare'],
    })
    for (let n = 0; n < 52; n++)
      await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'PURE_SIM', tags: ['many'] })
    const page = await bench.open('/#/runs', small)
    const rows = page.getByRole('table').getByRole('row')
    await page.getByRole('button', { name: 'Show older runs' }).click()
    await seen(page, 'seal-and-spin')
    await page.getByText('More filters').click()
    await page.getByLabel('Tag', { exact: true }).fill('rare')
    await rows.nth(2).waitFor({ state: 'detached' })
    const link = page.getByRole('table').getByRole('link')
    assert.equal(await link.getAttribute('href'), `#/runs/${execution_id}`)
    await page.getByLabel('State', { exact: true }).selectOption('FAILED')
    await page.getByText('No run matches.').waitFor()
    await page.getByRole('button', { name: 'Show all runs' }).click()
    await rows.nth(10).waitFor()
    await page.getByLabel('To', { exact: true }).fill('2001-01-01')
    await page.getByText('No run matches.').waitFor()
    await page.getByLabel('From', { exact: true }).fill('2001-01-02')
    await page.getByRole('alert').filter({ hasText: '“From” is after “To”, so that nothing can be found; exchange them.' }).waitFor()
    assert.equal(await rows.count(), 0, 'the runs of the query before are not shown beside it')
    for (const label of ['From', 'To']) await page.getByLabel(label, { exact: true }).fill('')
    await rows.nth(10).waitFor()
    await page.getByLabel('Search').fill('rare')
    // An older run that the live state does not know any more has its steps all the same, as far as they are kept.
    await rows.nth(2).waitFor({ state: 'detached' })
    await link.click()
    await page
      .getByRole('region', { name: 'Run of seal-and-spin' })
      .getByText(/completed, /)
      .waitFor()
  },

  async 'a stop that is cancelled lets a run go on that ran, and leaves one paused that was paused'(bench) {
    const { page, execution_id } = await begun(bench, patient)
    const run = page.getByRole('region', { name: 'Run of patient' })
    const press = (name: string) => run.getByRole('button', { name, exact: true }).click()
    const stopAndCancel = async () => {
      await press('Stop run')
      await run.getByText('Stop run: press again').waitFor()
      await press('Cancel')
      await run.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' })
    }
    await stopAndCancel()
    await run.getByRole('button', { name: 'Pause run' }).waitFor()
    await press('Pause run')
    await run.getByRole('button', { name: 'Resume run' }).waitFor()
    await stopAndCancel()
    // A request that resumes would have been answered before this one.
    await page.getByLabel('Note', { exact: true }).fill('still paused')
    await press('Add note')
    await page.getByText(/note is in the record/i).waitFor()
    assert.notEqual((await bench.ask('GET', `/api/executions/${execution_id}`)).paused, null)
    await press('Stop run')
    await press('Resume run')
    await run.getByText('Stop run', { exact: true }).waitFor()
  },

  async 'a stopped device stands on the screen of the run with its button, and is gone from there when it was initialized'(bench) {
    await bench.ask('POST', '/api/devices/shaker-1/initialize')
    const { page } = await begun(bench, willShake, 'LIVE')
    const run = page.getByRole('region', { name: 'Run of will-shake' })
    await seen(run, /waits for an event/)
    await bench.ask('POST', '/api/devices/shaker-1/stop')
    await run.getByText(/shaker-1 was stopped/).waitFor()
    await run.getByRole('button', { name: 'Initialize shaker-1' }).click()
    await run.getByText(/shaker-1 was stopped/).waitFor({ state: 'detached' })
    await endRuns(bench)
  },
}

type Shown = { entity_type: string; status: string; context: Record<string, unknown> }

type Begun = { page: Page; execution_id: string }

/** A run of the workflow, and the page that shows it. */
async function begun(bench: Bench, workflow: { name: string }, run_mode = 'DEVICE_SIM', groups: object[] = []): Promise<Begun> {
  await bench.ask('PUT', `/api/workflows/${workflow.name}`, workflow)
  const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: workflow.name, run_mode, groups })
  const page = await bench.open(`/#/runs/${execution_id}`)
  await page.getByRole('region', { name: `Run of ${workflow.name}` }).waitFor()
  return { page, execution_id: execution_id as string }
}

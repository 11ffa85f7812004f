// The rest of a day at the bench, by the page alone: what day.test.ts lists and no other scene presses.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { standing, workflowOf } from '../../src/testing/documents.ts'
import { button, card, downloaded, endRuns, goTo, needOf, pressTwice } from './bench.ts'
import type { Check } from './bench_page.ts'

const threads = { plate: { ...standing('pad_1'), steps: [{ wait_for: 'go' }, { method: 'note' }] } }
const workflow = workflowOf('of-the-day', threads, { topology: 'demo', methods: { note: [{ emit: 'noted' }] } })

export const dayChecks: Record<string, Check> = {
  async 'a workflow comes from a file, runs, is closed, loses a thread, and goes again with its run'(bench) {
    await endRuns(bench)
    const page = await bench.open('/#/runs/new')
    await page.getByLabel('Upload a file').setInputFiles(fileOf({ ...workflow, name: 7 }))
    await page.getByText('of-the-day.json is not a workflow: it has no name').waitFor()
    await page.getByLabel('Upload a file').setInputFiles(fileOf(workflow))
    await page.getByLabel('Workflow', { exact: true }).selectOption('of-the-day')
    assert.equal(await downloaded(page, button(page, 'Download of-the-day')), 'of-the-day.json')
    await button(page, 'Start run').click()
    await page.getByRole('region', { name: 'Run of of-the-day' }).waitFor()
    await page.getByText('Change this run').click()
    await button(page, 'Close to submissions').click()
    await button(page, 'Close to submissions').waitFor({ state: 'detached' })
    await button(page, 'Pause plate').click()
    await button(page, 'Resume plate').click()
    await button(page, 'Pause plate').waitFor()
    await pressTwice(page, 'Stop plate')
    await page.getByText(/(completed|aborted|stopped), On the bench/).waitFor()
    await pressTwice(page, 'Delete run')
    await page.getByRole('link', { name: 'New run' }).click()
    await page.getByLabel('Workflow', { exact: true }).selectOption('of-the-day')
    await pressTwice(page, 'Delete of-the-day')
    await button(page, 'Delete of-the-day').waitFor({ state: 'detached' })
  },

  async 'a simulated device is broken and mended to rehearse, on the bench and in a run on simulators'(bench) {
    await endRuns(bench)
    await bench.ask('POST', '/api/devices/sealer-1/initialize')
    const page = await bench.open('/#/system')
    await rehearse(page, 'sealer-1', 'interlock_open')
    const need = needOf(page, /Fault on sealer-1/)
    await need.waitFor()
    await button(page, 'End fault').click()
    await need.getByRole('button', { name: 'Initialize sealer-1' }).click()
    await need.waitFor({ state: 'detached' })
    const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' })
    await goTo(page, `runs/${execution_id}`)
    await page.getByText('Change this run').click()
    await rehearse(page, 'sealer-1', 'jam')
    const held = needOf(page, /is held by an error/)
    await held.getByRole('button', { name: 'Retry', exact: true }).waitFor({ timeout: 180_000 })
    await button(page, 'End fault').click()
    await held.getByRole('button', { name: 'Retry', exact: true }).click()
    await page.getByText(/completed, Rehearse on simulators/).waitFor({ timeout: 180_000 })
  },

  async 'a device is reserved and released, a teachpoint made, deleted and undone, the topology unloaded and loaded'(bench) {
    await endRuns(bench)
    const page = await bench.open('/')
    const more = button(page, 'More of shaker-1')
    await more.click()
    await button(page, 'Reserve shaker-1').click()
    await card(page, 'shaker-1')
      .getByText(/reserved by page/)
      .waitFor()
    await button(page, 'Release shaker-1').click()
    await button(page, 'Reserve shaker-1').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'shaker-1', exact: true }).waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'More of shaker-1', 'the menu gives the focus back')
    await goTo(page, 'teach')
    await page.getByLabel('New teachpoint').fill('pad_day')
    await page.getByRole('button', { name: /^Create/ }).click()
    await button(page, 'pad_day').click()
    await pressTwice(page, 'Delete pad_day')
    await button(page, 'Undo the deletion of pad_day').click()
    await button(page, 'pad_day').click()
    await pressTwice(page, 'Delete pad_day')
    await button(page, 'pad_day').waitFor({ state: 'detached' })
    await goTo(page, 'deck')
    await page.getByText('Topology demo').click()
    await pressTwice(page, 'Unload topology')
    await button(page, 'Load demo').click()
    await page.getByText('Topology demo').waitFor()
  },

  async 'keys are made, changed and revoked, a backup is made and fetched, the configuration read again, ports and events looked at'(
    bench,
  ) {
    const page = await bench.open('/#/system')
    await page.getByLabel('Name of a new key').fill('of the day')
    await button(page, 'Create key').click()
    await page.getByText(/^Copy the key now. It is shown only once: bk_/).waitFor()
    await pressTwice(page, 'Rotate of the day')
    // The old key works on until it is revoked.
    const revoke = button(page, 'Revoke of the day')
    await revoke.nth(1).waitFor()
    for (const left of [1, 0]) {
      await revoke.first().click()
      await page.getByRole('button', { name: 'Revoke: press again' }).click()
      await revoke.nth(left).waitFor({ state: 'detached' })
    }
    await button(page, 'Create a backup').click()
    assert.match(await downloaded(page, page.getByRole('button', { name: /^Download .*\.tar/ }).first()), /\.tar\.gz$/)
    await page.getByText('Nobody is notified when a person is needed').waitFor()
    await page.getByRole('link', { name: 'Show who did what' }).waitFor()
    await page.getByText('The configuration in force').click()
    await page.getByText('"time_scale": 50').waitFor()
    await page.getByText(/^benchd 0\.\d+\.\d+, API/).waitFor()
    await button(page, 'Reload the configuration').click()
    await page.locator('.notice').waitFor()
    await button(page, 'Identify').click()
    await button(page, 'Cancel').click()
    await goTo(page, 'events')
    assert.equal(await downloaded(page, button(page, 'Export the events of this time')), 'events.json')
  },

  async 'a test message is sent to those who are told when a person is needed, and who did not take it is named'(bench) {
    const page = await bench.open('/#/system', {
      async prepare(page) {
        const about = { on: ['needs_person'], format: 'ntfy', waiting: 0, delivered_at: null, failure: null }
        await page.route('**/api/system/notify', (route) =>
          route.fulfill({ json: { receivers: [{ ...about, host: 'ntfy.lab' }], dropped: 0 } }),
        )
        const receivers = [{ host: 'ntfy.lab', failure: 'it does not answer' }]
        await page.route('**/api/system/notify/test', (route) => route.fulfill({ json: { receivers } }))
      },
    })
    await page.getByText('has received no message yet').waitFor()
    await button(page, 'Send a test message').click()
    await page.getByText('ntfy.lab: it does not answer.').waitFor()
  },

  async 'plug-ins are shown with their state, and one that failed is started again'(bench) {
    let isMended = false
    const page = await bench.open('/#/system', {
      async prepare(page) {
        const about = { title: 'lamp', module: '/etc/benchd/plugins/lamp.ts', layer: 'isolated', scope: 'operate', events_handled: 12 }
        const counts = { events_waiting: 0, events_dropped: 3, restarts: 6, last_error_at: 1, memory_mib: null }
        const lamp = () => ({
          ...{ ...about, ...counts, name: 'lamp' },
          ...(isMended ? { state: 'running', last_error: null } : { state: 'failed', last_error: 'the lamp does not answer' }),
        })
        await page.route('**/api/plugins', (route) => route.fulfill({ json: { plugins: [lamp()] } }))
        await page.route('**/api/plugins/lamp/restart', (route) => {
          isMended = true
          return route.fulfill({ json: lamp() })
        })
      },
    })
    await page.getByText('lamp has failed and is not started again, in a process of its own, scope operate, 12 events, 3 dropped').waitFor()
    await page.getByText('the lamp does not answer').waitFor()
    await button(page, 'Restart the plug-in lamp').click()
    await page.getByText('lamp runs, in a process of its own').waitFor()
  },
}

async function rehearse(page: Page, device_id: string, fault: string): Promise<void> {
  const rehearsal = page.getByRole('region', { name: 'Rehearse a fault' })
  await rehearsal.getByLabel('Simulated device').selectOption(device_id)
  await rehearsal.getByLabel('Fault').selectOption(fault)
  await rehearsal.getByRole('button', { name: 'Simulate fault' }).click()
}

function fileOf(content: { name: unknown }) {
  return { name: 'of-the-day.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(content)) }
}

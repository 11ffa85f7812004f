// Versions of workflows and topologies on the page: who changed what, and an earlier version put again.

import assert from 'node:assert/strict'
import { standing, workflowOf } from '../../src/testing/documents.ts'
import { desk, endRuns, phone, small, widthOf } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

const shake = (speed: number) => [{ do: 'shake', on: 'shaker-1', with: { speed, duration: 5 } }]
const spin = [{ do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 } }]
const versioned = (methods: Readonly<Record<string, object[]>>) =>
  workflowOf(
    'versioned',
    { plate: { ...standing('pad_1'), steps: Object.keys(methods).map((method) => ({ method })) } },
    { topology: 'demo', methods },
  )

export const versionChecks: Record<string, Check> = {
  async 'the versions of a workflow are listed with what changed, and an earlier one is put again'(bench) {
    await bench.ask('PUT', '/api/workflows/versioned?note=as%20agreed', versioned({ shake_it: shake(400) }))
    await bench.ask('PUT', '/api/workflows/versioned', versioned({ shake_it: shake(600), spin_it: spin }))
    for (const size of [small, phone, desk]) {
      const page = await bench.open('/#/runs/new', size)
      await page.getByLabel('Workflow', { exact: true }).selectOption('versioned')
      await page.getByRole('link', { name: 'Versions of versioned' }).click()
      const list = page.getByRole('region', { name: 'Versions of versioned' })
      await list.getByText(/Version 1.*as agreed/).waitFor()
      await list.getByRole('button', { name: 'What changed in version 2' }).click()
      await list.getByText('methods.shake_it[0].with.speed: 400 -> 600').waitFor()
      await list.getByText('threads.plate.steps: spin_it added after shake_it').waitFor()
      assert.ok((await widthOf(page)) <= size.width, 'nothing is wider than the window')
      assert.deepEqual(await findingsOf(page), [])
      assert.deepEqual(await smallTargets(page), [])
      await page.close()
    }
    const page = await bench.open('/#/runs/new', small)
    await page.getByLabel('Workflow', { exact: true }).selectOption('versioned')
    await page.getByRole('link', { name: 'Versions of versioned' }).click()
    await page.getByRole('button', { name: 'Restore version 1' }).click()
    await page.getByRole('button', { name: 'Put version 1 again: press once more' }).click()
    await page.getByText(/Version 3.*version 1 again/).waitFor()
    const { document } = (await bench.ask('GET', '/api/workflows/versioned')) as { document: { methods: object } }
    assert.deepEqual(Object.keys(document.methods), ['shake_it'])
    await bench.ask('DELETE', '/api/workflows/versioned')
  },

  async 'the versions of the loaded topology are on the screen Deck'(bench) {
    await endRuns(bench)
    await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' })
    await endRuns(bench)
    const page = await bench.open('/#/deck', small)
    await page.getByText('Topology demo').click()
    await page.getByRole('link', { name: 'Versions of demo' }).click()
    await page.getByText(/Version 1.*with the program/).waitFor()
  },
}

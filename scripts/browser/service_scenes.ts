// Trouble of a real service, seen on the page: safe mode, and a disk that is full.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { makeThrowAwayFolder, removeFolder } from '../../src/kit/folder.ts'
import { answered, type Bench, card, goTo, holdToContinue, ids, needOf, openBench, seen } from './bench.ts'
import type { Check } from './bench_page.ts'

export const serviceChecks: Record<string, Check> = {
  async 'in safe mode nothing moves and a stop is sent, until somebody has acknowledged it on the page'(bench) {
    await bench.restart(async () => {}, true)
    const page = await bench.open('/')
    const need = needOf(page, /Safe mode/)
    await need.getByText(/started with --safe/).waitFor()
    // Nothing is offered that is refused.
    const initialize = page.getByRole('button', { name: /^Initialize/ })
    assert.equal(await initialize.count(), 0)
    await card(page, 'shaker-1').getByRole('button', { name: 'More of shaker-1' }).click()
    await page.getByRole('dialog').getByText('Acknowledge the safe mode first.').waitFor()
    assert.equal(await initialize.count(), 0)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'STOP ALL' }).click()
    await page.getByText(answered).waitFor()
    await holdToContinue(page)
    await need.getByRole('button', { name: 'Acknowledge' }).click()
    await need.waitFor({ state: 'detached' })
    for (const id of ids) await bench.ask('POST', `/api/devices/${id}/initialize`)
    await card(page, 'shaker-1').getByText('ready', { exact: true }).waitFor()
  },

  async 'what a program asks to confirm is shown whole with its code, and a denied code holds no longer'(bench) {
    const { api_key } = (await bench.ask('POST', '/api/keys', { name: 'assistant', scope: 'operate' })) as { api_key: string }
    const asProgram = async (path: string, body: object) => {
      const headers = { 'X-API-Key': api_key, 'X-Client': 'helper%201', 'Content-Type': 'application/json' }
      return fetch(bench.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    }
    const page = await bench.open('/')
    const text = 'Operate a device: {"device_id":"shaker-1","operation":"shake","params":{"speed":500,"duration":10}}'
    const { confirmation_id } = (await (await asProgram('/api/confirmations', { text })).json()) as { confirmation_id: string }
    const need = needOf(page, /A program asks you: code /)
    await need.getByText(text, { exact: false }).waitFor()
    await need.getByText(/"helper 1", as it calls itself, with the key assistant/).waitFor()
    const [code] = /[2-9A-Z]{3}-[2-9A-Z]{3}/.exec((await need.textContent()) ?? '') ?? []
    assert.ok(code)
    await need.getByRole('button', { name: 'Deny' }).click()
    await need.waitFor({ state: 'detached' })
    assert.equal((await asProgram(`/api/confirmations/${confirmation_id}/check`, { code })).status, 404)
  },

  async 'on a full disk the page says so, refuses what would be lost, stops and shows events, and goes on when there is space'({
    complaints,
  }) {
    await onSmallDisk(async (bench, folder) => {
      const page = await bench.open('/#/teach')
      await page.getByRole('button', { name: 'pad_2', exact: true }).click()
      const edit = page.getByRole('region', { name: 'Teachpoint pad_2' })
      const ballast = `${folder}/ballast`
      fill(folder, ballast)
      const first = edit.locator('input').first()
      await first.fill(String(Number(await first.inputValue()) + 1))
      await edit.getByRole('button', { name: 'Save', exact: true }).click()
      await seen(page, /the disk is full/i)
      await page.getByRole('button', { name: 'STOP ALL' }).click()
      await page.getByText(answered).waitFor()
      await goTo(page, 'system')
      await seen(page.locator('dd'), /degraded: .*storage/)
      await goTo(page, 'events')
      await seen(page, /shaker-1.* was stopped/)
      rmSync(ballast)
      await goTo(page, 'system')
      await seen(page.locator('dd'), /degraded: .*storage/, { state: 'detached', timeout: 30_000 })
      complaints.push(...bench.complaints)
    })
  },
}

/** A bench whose data lie on a disk of two megabytes; needs root. */
async function onSmallDisk(use: (bench: Bench, folder: string) => Promise<void>): Promise<void> {
  const folder = await makeThrowAwayFolder('benchd-small-disk')
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder])
  try {
    const bench = await openBench({ data_dir: folder })
    await use(bench, folder).finally(() => bench.close())
  } finally {
    execFileSync('umount', [folder])
    await removeFolder(folder)
  }
}

/** Leaves no free block. */
function fill(folder: string, ballast: string): void {
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(ballast, Buffer.alloc(bavail * bsize))
}

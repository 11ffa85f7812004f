// People on the page: the name of the person at a browser, and who did what.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, button, downloaded, goTo, ids, phone, seen, small, widthOf } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

type Entry = { text: string; name: string; operator?: string }

const entriesOf = async (bench: Bench, query: string) =>
  ((await bench.ask('GET', `/api/system/audit?${query}`)) as { entries: Entry[] }).entries

export const peopleChecks: Record<string, Check> = {
  async 'a first name is asked once a browser, may stay empty, goes with each change, and is changed on System'(bench) {
    for (const id of ids) await bench.ask('POST', `/api/devices/${id}/initialize`)
    const page = await bench.open('/', { ...small, asksName: true })
    const asks = page.getByRole('form', { name: 'Your first name' })
    assert.deepEqual([...(await findingsOf(page)), ...(await smallTargets(page))], [])
    await asks.getByLabel('Your first name').fill('Żaneta\u202e')
    await page.keyboard.press('Enter')
    await asks.waitFor({ state: 'detached' })
    await goTo(page, 'runs/new')
    await page.getByLabel('Workflow', { exact: true }).selectOption('seal-and-spin')
    await page.getByLabel('Mode').selectOption('PURE_SIM')
    await button(page, 'Start run').click()
    await page.getByRole('region', { name: 'Run of seal-and-spin' }).waitFor()
    const [last] = await entriesOf(bench, 'text=Submitted&limit=1')
    assert.equal(last?.operator, 'Żaneta', 'the mark of direction is left out')
    assert.match(last?.text ?? '', /^Submitted seal-and-spin \(Plan only\) as run /)
    await page.reload()
    await goTo(page, 'system')
    const own = page.getByRole('form', { name: 'First name at this browser' })
    assert.equal(await own.getByRole('textbox').inputValue(), 'Żaneta')
    assert.equal(await asks.count(), 0, 'it is not asked again')
    await own.getByRole('textbox').fill('')
    await own.getByRole('button', { name: 'Save' }).click()
    await button(page, 'Create a backup').click()
    await page
      .getByRole('button', { name: /^Download .*\.tar/ })
      .first()
      .waitFor()
    const [unnamed] = await entriesOf(bench, 'text=backup&limit=1')
    assert.equal(unnamed?.operator, undefined)
    const other = await bench.open('/', { asksName: true })
    await button(other, 'No name').click()
    await other.getByRole('form', { name: 'Your first name' }).waitFor({ state: 'detached' })
    await other.reload()
    await other.getByRole('article', { name: 'shaker-1', exact: true }).waitFor()
    assert.equal(await other.getByRole('form', { name: 'Your first name' }).count(), 0, 'an empty name is an answer')
  },

  async 'who did what is a list in words, filtered, paged, with its members, and downloaded'(bench) {
    const headers = { 'X-API-Key': bench.api_key, 'X-Operator': 'Berta' }
    await fetch(`${bench.url}/api/devices/sealer-1/initialize`, { method: 'POST', headers })
    await fetch(`${bench.url}/api/keys/nobody00`, { method: 'DELETE', headers })
    // A refused request is a line of the trail a moment later.
    while ((await entriesOf(bench, 'outcome=refused&who=Berta')).length === 0) await sleep(20)
    const page = await bench.open('/#/system')
    await page.getByRole('link', { name: 'Show who did what' }).click()
    const list = page.getByRole('list', { name: 'Entries, the newest first' })
    // Many requests of one kind are one line, which comes when their second is over.
    const refusal = list
      .getByRole('listitem')
      .filter({ hasText: /■ refused/ })
      .first()
    await refusal.waitFor()
    await refusal.getByText(/, said to be Berta$/).waitFor()
    const time = refusal.locator('time').first()
    assert.match((await time.getAttribute('title')) ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d, \S+$/)
    assert.ok(!Number.isNaN(Date.parse((await time.getAttribute('datetime')) ?? '')))
    await refusal.locator('summary').click()
    await refusal.getByText('"operator": "Berta"').waitFor()
    await page.getByLabel('Person or key').fill('berta')
    await page.getByLabel('Device', { exact: true }).selectOption('sealer-1')
    await page.getByLabel('Outcome').selectOption('done')
    await page.getByLabel('Search').fill('initialized')
    await seen(list, 'Initialized sealer-1')
    await refusal.waitFor({ state: 'detached' })
    assert.equal(await list.getByRole('listitem').count(), 1)
    assert.equal(await downloaded(page, button(page, 'Download these entries as JSON')), 'who-did-what.json')
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download these entries as CSV').click()])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n')
    assert.equal(lines.length, 2)
    assert.match(lines[1]!, /,Berta,admin,Initialized sealer-1,done,200,/)
    await page.getByLabel('Search').fill('nothing like that')
    await page.getByText('No entry matches the filter.').waitFor()
    for (const { width, height } of [small, phone]) {
      await page.setViewportSize({ width, height })
      assert.ok((await widthOf(page)) <= width, `wider than ${width}`)
    }
    await button(page, 'Refresh who did what').click()
  },

  async 'older entries of who did what come page by page'(bench) {
    // More requests of one kind within a second are one line.
    for (let i = 0; i < 15; i++) for (const id of ids) await bench.ask('PUT', `/api/devices/${id}/lock`, { owner: `page ${i}`, ttl_s: 60 })
    const page = await bench.open('/#/system/who')
    const entries = page.getByRole('list', { name: 'Entries, the newest first' }).locator(':scope > li')
    await entries.nth(49).waitFor()
    assert.equal(await entries.count(), 50)
    await button(page, 'Show older entries').click()
    await entries.nth(50).waitFor()
    for (const id of ids) await bench.ask('DELETE', `/api/devices/${id}/lock`)
  },
}

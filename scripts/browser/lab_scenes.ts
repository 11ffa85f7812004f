// The benches of a lab on the page of one of them: two benches, a real broker that goes away, and a bench that is silent.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { testBroker } from '../../src/testing/broker.ts'
import { type Bench, openBench, seen } from './bench.ts'
import type { Check } from './bench_page.ts'

const hasBroker = spawnSync('nats-server', ['--version']).status === 0

const needsBroker: Record<string, Check> = {
  async 'two benches of a lab see each other, each with its state and a way to its page, also while their broker is away'({ complaints }) {
    const ends: (() => unknown)[] = []
    try {
      const broker = await testBroker({ teardown: (end) => ends.push(end) })
      const member = async (name: string, url?: string): Promise<Bench> => {
        const bench = await openBench({ fleet: { servers: [broker.url], lab: 'floor-2', name, ...(url && { url }) } })
        ends.unshift(() => bench.close())
        return bench
      }
      const prep = await member('prep')
      await member('read', 'http://read.lab:8520')
      const page = await prep.open('/#/system')
      await page.getByRole('link', { name: 'Benches of the lab' }).click()
      await page.getByRole('heading', { name: 'Lab floor-2' }).waitFor()
      await line(page, 'prep').getByText('prep (this bench)').waitFor()
      await line(page, 'read').getByText('here', { exact: true }).waitFor({ timeout: 30_000 })
      assert.match(
        (await line(page, 'read').textContent())!,
        /heard 0:\d\d ago; (ok|degraded), 4 not initialized, 0 open incidents, benchd /,
      )
      assert.equal(await line(page, 'read').getByRole('link', { name: 'read' }).getAttribute('href'), 'http://read.lab:8520')
      await page.getByText(/prep is connected; all its events are sent/).waitFor()
      await broker.kill()
      await page.locator('.state.bad').first().waitFor()
      await line(page, 'read').waitFor()
      await page.getByRole('button', { name: 'STOP ALL' }).click()
      await page.getByText(/Every device confirmed STOP ALL|STOP NOT CONFIRMED: stop sent to all/).waitFor()
      await broker.start()
      await page.getByText(/prep is connected/).waitFor({ timeout: 30_000 })
      complaints.push(...prep.complaints)
    } finally {
      for (const end of ends) await end()
    }
  },
}

const always: Record<string, Check> = {
  async 'a bench that belongs to no lab says so, and a silent or unreachable one is told in words'(bench) {
    const page = await bench.open('/#/lab')
    await page.getByText('This bench belongs to no lab').waitFor()
    const link = { lab: 'floor-2', name: 'prep', state: 'away', failure: 'the broker does not answer', waiting: 3, servers: [] }
    const about = { url: 'http://x', fingerprint: null, version: '1', health: 'ok', devices: {}, incidents: 1, positions: ['out'] }
    const benches = [
      { ...about, name: 'read', state: 'silent', heard_s: 75 },
      { ...about, name: 'wash', state: 'unknown', heard_s: null },
    ]
    await page.route('**/api/lab', (route) => route.fulfill({ json: { link, benches } }))
    await page.reload()
    await page.getByText('the broker does not answer').waitFor()
    await seen(line(page, 'read'), /silent heard 1:15 ago; ok, no devices, 1 open incident, .* handed over at out/)
    await line(page, 'wash')
      .getByText(/unknown no message since/)
      .waitFor()
  },
}

export const labChecks: Record<string, Check> = { ...(hasBroker && needsBroker), ...always }

/** The scenes that cannot be played where there is no `nats-server`. */
export const labSkips: readonly string[] = hasBroker ? [] : Object.keys(needsBroker)

function line(page: Page, name: string) {
  return page.getByRole('list', { name: 'Benches' }).getByRole('listitem').filter({ hasText: name })
}

// The page of the bench and the page of the API in a real browser, against a real service on simulated instruments. Prints
// `N passed, N failed`.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { desk, openBench, phone, seen, small, widthOf } from './bench.ts'
import { benchPageChecks, type Check } from './bench_page.ts'
import { bridgeChecks } from './bridge_scenes.ts'
import { cardChecks } from './card_scenes.ts'
import { dayChecks } from './day_scenes.ts'
import { deckChecks } from './deck_scenes.ts'
import { deviceChecks } from './device_scenes.ts'
import { handsChecks } from './hands_scenes.ts'
import { journeyChecks, journeySkips } from './journey_scenes.ts'
import { labChecks, labSkips } from './lab_scenes.ts'
import { peopleChecks } from './people_scenes.ts'
import { queueChecks } from './queue_scenes.ts'
import { reportChecks } from './report_scenes.ts'
import { runOperationChecks } from './run_operation_scenes.ts'
import { runChecks } from './run_scenes.ts'
import { samplesChecks } from './samples_scenes.ts'
import { serviceChecks } from './service_scenes.ts'
import { setupChecks } from './setup_scenes.ts'
import { stopChecks } from './stop_scenes.ts'
import { storageChecks } from './storage_scenes.ts'
import { teachChecks } from './teach_scenes.ts'
import { troubleChecks } from './trouble_scenes.ts'
import { versionChecks } from './version_scenes.ts'

const run = promisify(execFile)

const checks: Record<string, Check> = {
  ...runChecks,
  ...samplesChecks,
  ...reportChecks,
  ...queueChecks,
  ...peopleChecks,
  ...benchPageChecks,
  ...cardChecks,
  ...deviceChecks,
  ...deckChecks,
  ...storageChecks,
  ...serviceChecks,
  ...setupChecks,
  ...troubleChecks,
  ...stopChecks,
  ...handsChecks,
  ...teachChecks,
  ...bridgeChecks,
  ...labChecks,
  ...dayChecks,
  ...journeyChecks,
  ...versionChecks,
  ...runOperationChecks,

  async 'the page of the API fits the bench screen, a phone and a desk'(bench) {
    for (const { width, height } of [small, { width: 375, height: 667 }, desk]) {
      const page = await bench.open('/docs', { width, height })
      await page.locator('#shakeDevice').waitFor()
      assert.ok((await widthOf(page)) <= width, `/docs is wider than ${width}`)
      const title = await page.getByRole('heading', { level: 1 }).boundingBox()
      assert.ok(title && title.y < height / 2, `the list of operations leaves the page half of ${width}x${height}`)
    }
  },

  async 'the guides can be read on a bench screen and a phone, and lead to each other'(bench) {
    for (const { width, height } of [small, phone]) {
      const page = await bench.open('/docs/guides/care', { width, height })
      await page.getByRole('heading', { name: 'Messages to your phone' }).waitFor()
      assert.ok((await widthOf(page)) <= width, `the guide is wider than ${width}`)
      await page.getByRole('navigation').getByRole('link', { name: 'Workflows' }).click()
      await page.getByRole('heading', { name: 'Workflows', level: 1 }).waitFor()
    }
  },

  async 'the page of the API shows every operation, and its search narrows them'(bench) {
    const { paths } = (await (await fetch(`${bench.url}/openapi.json`)).json()) as { paths: Record<string, object> }
    const page = await bench.open('/docs')
    await page.locator('#shakeDevice').waitFor()
    assert.equal(await page.locator('details.operation').count(), Object.values(paths).flatMap(Object.keys).length)
    await page.getByLabel('Search').fill('unlock plate')
    assert.equal(await page.locator('details.operation:visible').count(), 1)
    assert.equal(await page.locator('details.operation:visible').getAttribute('id'), 'unlockPlate')
    assert.deepEqual(
      await page.locator('h2:visible').allTextContents(),
      ['devices', 'devices'],
      'of the list and the page: no empty group is left',
    )
    await page.getByRole('link', { name: 'Errors' }).click()
    assert.equal(await page.getByLabel('Search').inputValue(), '', 'a link to what the search hides ends the search')
    for (const word of ['not_initialized', 'stop_not_sent']) await page.locator('#errors').getByText(word, { exact: true }).waitFor()
    for (const word of ['Last-Event-ID', 'next_since']) await page.locator('#events').getByText(word, { exact: true }).first().waitFor()
  },

  async 'an operation shows its body with units, its answers and an example that can be copied'(bench) {
    const page = await bench.open('/docs#shakeDevice')
    const shake = page.locator('#shakeDevice')
    await shake.getByRole('row', { name: /speed number rpm limits of the device/ }).waitFor()
    await shake.getByRole('row', { name: /^409/ }).waitFor()
    await shake.getByRole('button', { name: 'Python requests' }).click()
    await shake.getByRole('button', { name: 'Copy' }).click()
    await shake.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    assert.match(copied, /requests\.post\([\s\S]*json=\{"speed": 500, "duration": 10\}[\s\S]*timeout=50/)
  },

  async 'what can be copied runs as it stands'(bench) {
    const page = await bench.open('/docs#createTeachpoint')
    const [createTeachpoint, listDevices] = [page.locator('#createTeachpoint'), page.locator('#listDevices')]
    const env = { ...process.env, BENCHD_API_KEY: bench.api_key }
    const shown = await createTeachpoint.locator('.snippet code').textContent()
    assert.match((await run('sh', ['-c', shown!], { env })).stdout, /"name":"pad_5"/)
    await createTeachpoint.getByRole('button', { name: 'Python, nothing installed' }).click()
    const again = await createTeachpoint.locator('.snippet code').textContent()
    await assert.rejects(run('python3', ['-c', again!], { env }), /pad_5/, 'it is there already, and Python says so')
    const list = await listDevices.locator('.snippet code').textContent()
    assert.match((await run('python3', ['-c', list!], { env })).stdout, /'device_id': 'shaker-1'/)
  },

  async 'operations can be tried, and a refusal shows its sentence and its word'(bench) {
    for (const id of ['shaker-1', 'sealer-1']) await bench.ask('POST', `/api/devices/${id}/initialize`)
    await bench.ask('POST', '/api/devices/shaker-1/unlock_plate')
    const page = await bench.open('/docs#listDevices')
    await page.locator('#listDevices').getByRole('button', { name: 'Send GET' }).click()
    await page.locator('#listDevices .output').getByText('"device_id": "shaker-1"').waitFor()
    await page.goto(`${bench.url}/docs#shakeDevice`)
    await page.reload()
    await page.locator('#shakeDevice').getByRole('button', { name: 'Send POST' }).click()
    await seen(page.locator('#shakeDevice .output'), /^409[\s\S]*X-Reason: interlock[\s\S]*"detail"/)
    await page.locator('#shakeDevice textarea').fill('{"speed": "fast", "duration": 10}')
    await page.locator('#shakeDevice').getByRole('button', { name: 'Send POST' }).click()
    await seen(page.locator('#shakeDevice .output'), /^400[\s\S]*speed/)
    await page.locator('#shakeDevice input').first().fill('shaker-9')
    await page.locator('#shakeDevice').getByRole('button', { name: 'Send POST' }).click()
    await seen(page.locator('#shakeDevice .output'), /^404[\s\S]*shaker-9/)
  },

  async 'the page of the API asks for a key when one is wanted, then sends what was asked for'(bench) {
    const page = await bench.open('/docs#whoAmI', { withKey: false })
    await page.locator('#whoAmI').getByRole('button', { name: 'Send GET' }).click()
    await page.getByLabel('API key').fill(bench.api_key)
    await page.keyboard.press('Enter')
    await page.locator('#whoAmI .output').getByText('"scope": "admin"').waitFor()
  },

  async 'the stream can be watched from the page of the API'(bench) {
    const page = await bench.open('/docs#streamEvents')
    await page.locator('#streamEvents').getByRole('button', { name: 'Send GET' }).click()
    await page.locator('#streamEvents .output').getByText(/^200/).waitFor()
    await bench.ask('POST', '/api/sim/events', { event_name: 'CUSTOM.seen.EMITTED' })
    await page.locator('#streamEvents .output').getByText('CUSTOM.seen.EMITTED').waitFor()
  },

  async "without the browser's clipboard, which plain HTTP closes, Copy still copies"(bench) {
    const page = await bench.open('/docs#listDevices')
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.locator('#listDevices').getByRole('button', { name: 'Copy' }).click()
    await page.locator('#listDevices').getByRole('button', { name: 'Copied' }).waitFor()
  },

  async 'nothing went wrong inside the pages, and nothing was asked of anybody else'({ complaints }) {
    assert.deepEqual(complaints, [])
  },
}

const bench = await openBench()
const chosen = Object.entries(checks).filter(([name]) => name.includes(process.argv[2] ?? ''))
let failed = 0
for (const [name, check] of chosen) {
  try {
    await check(bench)
    console.log(`ok      ${name}`)
  } catch (error) {
    failed++
    console.log(`FAILED  ${name}\n${error instanceof Error ? error.stack : error}`)
  }
  await bench.closeWindows()
}
await bench.close()
for (const name of labSkips) console.log(`skipped ${name}: there is no nats-server`)
for (const name of journeySkips) console.log(`skipped ${name}: there is no postgres`)
const skips = labSkips.length + journeySkips.length
console.log(`${chosen.length - failed} passed, ${failed} failed${skips ? `, ${skips} skipped` : ''}`)
process.exitCode = failed ? 1 : 0

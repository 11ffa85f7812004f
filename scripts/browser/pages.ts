// The page of the bench and the page of the API in a real browser, against a real service on simulated instruments. Prints
// `N passed, N failed`. With BENCHD_SCREENSHOTS it leaves pictures in that folder.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { type Bench, openBench } from './bench.ts'

type Check = (bench: Bench) => Promise<void>

const run = promisify(execFile)
const pictures = process.env.BENCHD_SCREENSHOTS

const checks: Record<string, Check> = {
  async 'a browser without a key is asked for one, told when it is wrong, and not asked again'(bench) {
    const page = await bench.open('/', { withKey: false })
    await page.getByLabel('API key of this browser').fill('bk_wrong')
    await page.getByRole('button', { name: 'Use this key' }).click()
    await page.getByText('This key is wrong, expired or revoked').waitFor()
    await page.getByLabel('API key of this browser').fill(bench.api_key)
    await page.getByRole('button', { name: 'Use this key' }).click()
    await row(page, 'shaker-1').waitFor()
    await page.reload()
    await row(page, 'shaker-1').waitFor()
    assert.equal(await page.locator('#key').isVisible(), false)
    await page.getByRole('button', { name: 'Forget the key' }).click()
    await page.locator('#key').waitFor()
  },

  async 'every device is listed with its state and marked as simulated'(bench) {
    const page = await bench.open('/')
    await row(page, 'shaker-1').waitFor()
    for (const id of ['shaker-1', 'sealer-1', 'centrifuge-1', 'arm-1']) {
      assert.match(await textOf(row(page, id)), /SIMULATED[\s\S]*not initialized[\s\S]*no/)
    }
    await page.getByText('nothing on this bench is real').waitFor()
    await picture(page, 'bench-1280x800')
  },

  async 'an operation shows with the seconds that are left'(bench) {
    await ready(bench)
    const page = await bench.open('/', { width: 800, height: 480 })
    await bench.ask('POST', '/api/devices/shaker-1/lock_plate')
    const shaking = bench.ask('POST', '/api/devices/shaker-1/shake', { speed: 500, duration: 200 })
    await row(page, 'shaker-1')
      .getByText(/shake, \d+ s left/)
      .waitFor()
    await picture(page, 'bench-busy-800x480')
    await bench.ask('POST', '/api/devices/shaker-1/stop')
    await shaking
  },

  async 'Stop all acts when it is pressed down, asks nothing, and leaves every device stopped'(bench) {
    await ready(bench)
    const page = await bench.open('/', { width: 800, height: 480 })
    await row(page, 'shaker-1').getByText('ready', { exact: true }).waitFor()
    const { x, y, width, height } = (await page.locator('#stop-all').boundingBox())!
    await page.mouse.move(x + width / 2, y + height / 2)
    await page.mouse.down()
    await row(page, 'shaker-1').getByText('stopped', { exact: true }).waitFor()
    await page.mouse.up()
    for (const id of ['shaker-1', 'sealer-1', 'centrifuge-1', 'arm-1']) {
      assert.equal((await bench.ask('GET', `/api/devices/${id}`)).state, 'stopped', id)
    }
    await page.locator('#events').getByText('DEVICE.shaker-1.FAULTED').waitFor()
    // Where the machine is slow, an instrument may acknowledge later than the service waits.
    await page
      .locator('#said')
      .getByText(/^(Stopped|STOP NOT CONFIRMED) \d\d:/)
      .waitFor()
    assert.match(await textOf(page.locator('#faults')), /Fault on shaker-1/)
    await picture(page, 'bench-stopped-800x480')
    await picture(await bench.open('/', { dark: true }), 'bench-stopped-dark-1280x800')
  },

  async 'Stop all can be pressed with the keyboard, and a single device has a Stop of its own'(bench) {
    await ready(bench)
    const page = await bench.open('/')
    await page.getByRole('button', { name: 'Stop shaker-1' }).click()
    await row(page, 'shaker-1').getByText('stopped', { exact: true }).waitFor()
    assert.equal((await bench.ask('GET', '/api/devices/sealer-1')).state, 'ready')
    await page.locator('#stop-all').focus()
    await page.keyboard.press('Enter')
    await row(page, 'sealer-1').getByText('stopped', { exact: true }).waitFor()
  },

  async 'events come in, the newest first, two hundred at most, and never as markup'(bench) {
    const page = await bench.open('/')
    await page.getByText('live', { exact: true }).waitFor()
    const context = { value: '<img src=x onerror=alert(1)>' }
    for (let n = 1; n <= 210; n++) await bench.ask('POST', '/api/sim/events', { event_name: `CUSTOM.n${n}.EMITTED`, context })
    await page.locator('#events').getByText('CUSTOM.n210.EMITTED').waitFor()
    assert.match(await textOf(page.locator('#events li').first()), /CUSTOM\.n210\.EMITTED .*<img src=x/)
    assert.equal(await page.locator('#events li').count(), 200)
    assert.equal(await page.locator('#events img').count(), 0)
  },

  async 'when the service goes away the page says so, comes back by itself, and has missed nothing'(bench) {
    const page = await bench.open('/')
    await page.getByText('live', { exact: true }).waitFor()
    await bench.ask('POST', '/api/sim/events', { event_name: 'CUSTOM.before.EMITTED' })
    await page.locator('#events').getByText('CUSTOM.before.EMITTED').waitFor()
    const back = bench.restart()
    await page.getByText(/no events since/).waitFor()
    await back
    await bench.ask('POST', '/api/sim/events', { event_name: 'CUSTOM.while_away.EMITTED' })
    await page.locator('#events').getByText('CUSTOM.while_away.EMITTED').waitFor()
    await page.getByText('live', { exact: true }).waitFor()
  },

  async 'a revoked key is told to the person, who can give another'(bench) {
    const { api_key, key_id } = await bench.ask('POST', '/api/keys', { name: 'short-lived', scope: 'read' })
    const page = await bench.open('/', { withKey: false })
    await page.getByLabel('API key of this browser').fill(String(api_key))
    await page.keyboard.press('Enter')
    await row(page, 'shaker-1').waitFor()
    await bench.ask('DELETE', `/api/keys/${key_id}`)
    await page.getByText('wrong, expired or revoked; give another').waitFor()
  },

  async 'both pages fit the bench screen, a phone and a desk'(bench) {
    for (const [width, height] of [
      [800, 480],
      [375, 667],
      [1280, 800],
    ] as const) {
      for (const path of ['/', '/docs']) {
        const page = await bench.open(path, { width, height })
        await (path === '/' ? row(page, 'shaker-1') : page.locator('#shakeDevice')).waitFor()
        await picture(page, `${path === '/' ? 'bench' : 'docs'}-${width}x${height}`)
        assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= width, `${path} is wider than ${width}`)
        if (path === '/') await notCovered(page)
      }
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
    await page.getByLabel('Search').fill('')
    for (const word of ['not_initialized', 'stop_not_sent']) await page.locator('#errors').getByText(word, { exact: true }).waitFor()
    for (const word of ['Last-Event-ID', 'next_since']) await page.locator('#events').getByText(word, { exact: true }).first().waitFor()
  },

  async 'an operation shows its body with units, its answers and an example that can be copied'(bench) {
    const page = await bench.open('/docs#shakeDevice')
    const shake = page.locator('#shakeDevice')
    await shake.getByRole('row', { name: /speed number rpm/ }).waitFor()
    await shake.getByRole('row', { name: /^409/ }).waitFor()
    await shake.getByRole('button', { name: 'Python requests' }).click()
    await shake.getByRole('button', { name: 'Copy' }).click()
    await shake.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    assert.match(copied, /requests\.post\([\s\S]*json=\{"speed": 500, "duration": 10\}[\s\S]*timeout=50/)
    await picture(page, 'docs-shake-1280x800')
    await picture(await bench.open('/docs#shakeDevice', { width: 800, height: 480, dark: true }), 'docs-shake-dark-800x480')
  },

  async 'what can be copied runs as it stands'(bench) {
    const page = await bench.open('/docs#createTeachpoint')
    const { createTeachpoint, listDevices } = {
      createTeachpoint: page.locator('#createTeachpoint'),
      listDevices: page.locator('#listDevices'),
    }
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
    await ready(bench)
    const page = await bench.open('/docs#listDevices')
    await page.locator('#listDevices').getByRole('button', { name: 'Send GET' }).click()
    await page.locator('#listDevices .output').getByText('"device_id": "shaker-1"').waitFor()
    await page.goto(`${bench.url}/docs#shakeDevice`)
    await page.reload()
    await page.locator('#shakeDevice').getByRole('button', { name: 'Send POST' }).click()
    await page
      .locator('#shakeDevice .output')
      .getByText(/^409[\s\S]*X-Reason: interlock[\s\S]*"detail"/)
      .waitFor()
    await page.locator('#shakeDevice textarea').fill('{"speed": "fast", "duration": 10}')
    await page.locator('#shakeDevice').getByRole('button', { name: 'Send POST' }).click()
    await page
      .locator('#shakeDevice .output')
      .getByText(/^400[\s\S]*speed/)
      .waitFor()
    await page.locator('#shakeDevice input').first().fill('shaker-9')
    await page.locator('#shakeDevice').getByRole('button', { name: 'Send POST' }).click()
    await page
      .locator('#shakeDevice .output')
      .getByText(/^404[\s\S]*shaker-9/)
      .waitFor()
    await picture(page, 'docs-tried-1280x800')
  },

  async 'the page of the API asks for a key when one is wanted, then sends what was asked for'(bench) {
    const page = await bench.open('/docs#whoAmI', { withKey: false })
    await page.locator('#whoAmI').getByRole('button', { name: 'Send GET' }).click()
    await page.getByLabel('API key of this browser').fill(bench.api_key)
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

function row(page: Page, device_id: string) {
  return page.locator(`tr[data-device="${device_id}"]`)
}

async function textOf(locator: Locator): Promise<string> {
  return (await locator.textContent()) ?? ''
}

async function ready({ ask }: Bench): Promise<void> {
  for (const id of ['shaker-1', 'sealer-1']) await ask('POST', `/api/devices/${id}/initialize`)
}

/** Stop all is in view, and covers none of the buttons of the devices beside it. */
async function notCovered(page: Page): Promise<void> {
  const { x, y, width, height } = (await page.locator('#stop-all').boundingBox())!
  const view = page.viewportSize()!
  assert.ok(x >= 0 && y >= 0 && x + width <= view.width && y + height <= view.height, 'Stop all is out of view')
  const button = (await page.getByRole('button', { name: 'Stop shaker-1' }).boundingBox())!
  assert.ok(button.x + button.width <= (x || view.width), `the button of a device is covered at ${view.width}`)
}

async function picture(page: Page, name: string): Promise<void> {
  if (!pictures) return
  await page.waitForTimeout(400)
  await page.screenshot({ path: `${pictures}/${name}.png` })
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
}
await bench.close()
console.log(`${chosen.length - failed} passed, ${failed} failed`)
process.exitCode = failed ? 1 : 0

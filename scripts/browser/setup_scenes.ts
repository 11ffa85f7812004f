// A bench is set up on the page: a device is added to its configuration, and a camera looks at it.

import assert from 'node:assert/strict'
import { driver as bioshake } from '../../drivers/bioshake/driver.ts'
import type { Driver } from '../../drivers/driver.ts'
import { serveOnPty } from '../../drivers/serve.ts'
import { jpeg, openCamera } from '../../src/testing/camera.ts'
import { type Bench, button, card, desk, goTo, needOf, openBench, seen, small } from './bench.ts'
import type { Check } from './bench_page.ts'

export const setupChecks: Record<string, Check> = {
  async 'an instrument at a port is tried with a wrong and the right driver, saved, and its card appears without a restart'({
    complaints,
  }) {
    await onBench({ has_file: true }, complaints, async (bench) => {
      const shaker = await serveOnPty(bioshake as Driver, { model: '3000-T elm' })
      try {
        const page = await bench.open('/#/system', small)
        await page.getByRole('link', { name: 'Add a device' }).click()
        await page.getByLabel('Where it is').selectOption('path')
        assert.equal(await button(page, 'Try it').isDisabled(), true, 'the path is missing')
        await page.getByLabel('Path of the port').fill(shaker.path)
        await page.getByLabel('Instrument').selectOption('ika_shaker')
        await button(page, 'Try it').click()
        await seen(page, /as an instrument of the driver bioshake does/)
        assert.equal(await button(page, 'Save').isDisabled(), true, 'another instrument is not saved')
        await button(page, 'Use the driver bioshake').click()
        await page.getByLabel('Id in commands').fill('shaker-9')
        await page.getByLabel('Name for people').fill('By the window')
        await button(page, 'Try it').click()
        await seen(page, /BIOSHAKE 3000-T elm \(simulated\), serial number SIM-0001/)
        await inView(page, 'Save')
        await button(page, 'Save').click()
        await card(page, 'shaker-9').waitFor()
        await seen(page, 'shaker-9 is in the configuration, and in force.')
        await goTo(page, 'system/who')
        await seen(page, /Added the device shaker-9 to the configuration, driver bioshake/)
      } finally {
        await shaker.close()
      }
    })
  },

  async 'a person and a simulated instrument are added by keyboard'({ complaints }) {
    await onBench({ has_file: true }, complaints, async (bench) => {
      const page = await bench.open('/#/bench/add', desk)
      await page.getByLabel('Where it is').selectOption('person')
      await page.getByLabel('Name for people').fill('Whoever is here')
      await button(page, 'Save').focus()
      await page.keyboard.press('Enter')
      await card(page, 'hands').waitFor()
      await goTo(page, 'bench/add')
      await page.getByLabel('Where it is').selectOption('simulated')
      await page.getByLabel('Instrument').selectOption('plateloc')
      await page.getByLabel('Id in commands').fill('hands')
      await seen(page, 'The bench has a device hands already.')
      await page.getByLabel('Id in commands').fill('sealer-8')
      await button(page, 'Save').click()
      await card(page, 'sealer-8').waitFor()
    })
  },

  async 'where nothing can be saved the page says so, and a key of scope operate is not offered the screen'(bench) {
    const page = await bench.open('/#/bench/add')
    await seen(page, /has no configuration file/)
    assert.equal(await button(page, 'Save').count(), 0)
    const { api_key } = await bench.ask('POST', '/api/keys', { name: 'hands on', scope: 'operate' })
    const operator = await bench.open(`/#k=${api_key}`, { withKey: false })
    await card(operator, 'shaker-1').waitFor()
    await goTo(operator, 'system')
    await seen(operator, /need a key of scope admin/)
    assert.equal(await operator.getByRole('link', { name: 'Add a device' }).count(), 0)
  },

  async 'a camera is shown on Bench while its tile is open, with its age and why there is none, and its kept pictures'({ complaints }) {
    const camera = await openCamera()
    const kept = { name: 'deck', url: camera.url, at_incidents: true }
    try {
      await onBench({ cameras: [kept] }, complaints, async (bench) => {
        const page = await bench.open('/', small)
        await page.getByText('Camera deck').click()
        await seen(page, 'The picture is of now.')
        const picture = page.getByRole('img', { name: 'Picture of the camera deck' })
        assert.deepEqual(await picture.evaluate((canvas) => [Reflect.get(canvas, 'width'), Reflect.get(canvas, 'height')]), [8, 6])
        await page.reload()
        await seen(page, 'The picture is of now.')
        camera.answer = (response) => response.writeHead(503).end()
        await seen(page, /The camera deck answered 503\. The picture is 0:\d\d old/)
        camera.answer = (response) => response.end(jpeg)
        await bench.ask('POST', '/api/sim/devices/sealer-1/faults', { fault: 'jam' })
        await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
        await needOf(page).first().waitFor()
        let isKept = false
        while (!isKept) {
          const { incidents } = (await bench.ask('GET', '/api/incidents')) as { incidents: { pictures: string[] }[] }
          isKept = incidents.some(({ pictures }) => pictures.length > 0)
        }
        await page.reload()
        await page.getByText('Pictures kept with incidents').click()
        await button(page, 'Picture').first().click()
        const old = page.getByRole('img', { name: 'Picture of the camera deck at the incident' })
        await page.waitForFunction((canvas) => Reflect.get(canvas!, 'width') === 8, await old.elementHandle())
        await page.getByText('Camera deck').click()
        await picture.waitFor({ state: 'detached' })
        await asksOnlyWhenVisible(bench)
      })
    } finally {
      await camera.close()
    }
  },
}

/** A hidden tab asks for no picture: ten seconds of its own clock pass without a request. */
async function asksOnlyWhenVisible(bench: Bench): Promise<void> {
  const page = await bench.open('/', { prepare: (page) => page.clock.install() })
  let asked = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/picture')) asked++
  })
  const hide = (isHidden: boolean) => page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })`)
  await page.getByText('Camera deck').click()
  await seen(page, 'The picture is of now.')
  await hide(true)
  const before = asked
  await page.clock.runFor(10_000)
  assert.equal(asked, before)
  await hide(false)
  const again = page.waitForRequest((request) => request.url().endsWith('/picture'))
  await page.clock.runFor(1000)
  await again
}

async function inView(page: Awaited<ReturnType<Bench['open']>>, name: string): Promise<void> {
  const box = await button(page, name).boundingBox()
  const { height } = page.viewportSize()!
  assert.ok(box && box.y >= 0 && box.y + box.height <= height, `${name} is out of view: ${JSON.stringify(box)}`)
}

async function onBench(more: Parameters<typeof openBench>[0], complaints: string[], use: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = await openBench(more)
  await use(bench).finally(() => bench.close())
  complaints.push(...bench.complaints)
}

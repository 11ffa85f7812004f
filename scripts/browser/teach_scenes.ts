// A person teaches an arm by the page: jog while a button is held, Save here, Try it, and free drive. The arm moves in real time.

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Locator, Page } from 'playwright-core'
import { type Bench, button, goTo, openBench, picture, seen } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

const screen = { width: 800, height: 480, touch: true }

type Operation = { operation_id: string; operation: string; status: string; ended: number; result: { message: string } | null }

export const teachChecks: Record<string, Check> = {
  'an arm moves while a finger or a key holds its button, and stands when the button is let go': withArm(async (bench) => {
    const page = await teaching(bench)
    const jog = button(page, 'Jog x +')
    const begun = countOf(page, '/perform')
    const touch = await touchOf(page)
    const finger: Way = [() => touch.down(jog), () => touch.up()]
    const key: Way = [() => keyDown(page, jog), () => page.keyboard.up('Enter')]
    const endings: [how: string, way: Way, letGo: () => Promise<unknown>][] = [
      ['the finger is lifted', finger, finger[1]],
      ['the browser takes the touch away', finger, () => touch.cancel()],
      ['the finger slides off and is lifted', finger, () => touch.slide(300, 440).then(() => touch.up())],
      ['the key is let go', key, key[1]],
      ['the button loses the focus', key, () => page.evaluate('document.activeElement.blur()')],
      ['the tab is hidden', key, () => hide(page)],
      ['another screen is shown', key, () => goTo(page, 'deck')],
    ]
    for (const [n, [how, [hold, release], letGo]] of endings.entries()) {
      const before = await poseOf(bench)
      let already = 0
      const begin = () => {
        already = begun.count
        return hold()
      }
      const operation_id = await moving(bench, 'jog', seenMoving(page, 'x +'), [begin, release])
      if (n === 0) await picture(page, 'teach-jog')
      const at = Date.now()
      await letGo()
      const { ended, result } = await endOf(bench, operation_id)
      report(how, at, ended)
      assert.match(result?.message ?? '', /jogged x by \+[\d.]+ mm/)
      const { x } = await poseOf(bench)
      assert.ok(x > before.x, `${how}: it has moved from ${before.x} to ${x}`)
      assert.equal((await poseOf(bench)).x, x, 'it stands')
      assert.equal(begun.count, already + 1, `${how}: one movement was begun`)
      if (how === 'the tab is hidden') await page.evaluate('delete document.hidden')
      else if (n < endings.length - 2) await seen(page, /^Jogged x by \+[\d.]+ mm/)
      await page.keyboard.up('Enter')
    }
  }),

  'an arm stands when its page is gone, is cut off, or presses STOP ALL, and the page says why': withArm(async (bench) => {
    const closed = await teaching(bench)
    const finger = await touchOf(closed)
    const first = await moving(bench, 'jog', seenMoving(closed, 'y +'), [() => finger.down(button(closed, 'Jog y +')), finger.up])
    let at = Date.now()
    await closed.close()
    report('the tab is closed', at, (await endOf(bench, first)).ended)

    const cut = await teaching(bench)
    const touch = await touchOf(cut)
    const second = await moving(bench, 'jog', seenMoving(cut, 'y −'), [() => touch.down(button(cut, 'Jog y −')), touch.up])
    at = Date.now()
    await cut.context().setOffline(true)
    const { ended, result } = await endOf(bench, second)
    report('the network is cut', at, ended)
    assert.match(result?.message ?? '', /jogged y by -[\d.]+ mm; it ended because nothing renewed it for 150 ms/)
    await seen(cut, /The service does not answer|no connection|nothing renewed it/)
    await cut.context().setOffline(false)
    await cut.locator('[data-link=live]').waitFor()
    await seen(cut, /nothing renewed it/)
    await touch.up()

    const third = await moving(bench, 'jog', seenMoving(cut, 'y +'), [() => touch.down(button(cut, 'Jog y +')), touch.up])
    at = Date.now()
    await cut.evaluate(`document.querySelector('button.stop').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))`)
    report('STOP ALL is pressed', at, (await endOf(bench, third)).ended)
    await cut
      .getByText(/STOP ALL was pressed here/)
      .first()
      .waitFor()
    assert.equal(await button(cut, 'Jog y +').isDisabled(), true)
    await touch.up()
  }),

  'Save here stores where the arm stands, Undo takes it back, and Try it goes there': withArm(async (bench) => {
    const page = await teaching(bench)
    const edit = page.getByRole('region', { name: 'Teachpoint pad_1' })
    const stored = await pointOf(bench)
    const touch = await touchOf(page)
    const operation_id = await moving(bench, 'jog', seenMoving(page, 'z +'), [() => touch.down(button(page, 'Jog z +')), touch.up])
    await touch.up()
    await endOf(bench, operation_id)
    const pose = await poseOf(bench)
    await button(edit, 'Save here: pad_1').tap()
    await seen(page, 'pad_1 is now where arm-1 stands.')
    assert.deepEqual(await pointOf(bench), pose)
    await button(edit, 'Undo the last change').tap()
    const field = edit.getByLabel('z (mm)', { exact: true })
    while ((await field.inputValue()) !== String(stored.z)) await page.waitForTimeout(50)
    assert.deepEqual(await pointOf(bench), stored)
    await edit.getByLabel('Where it stops').selectOption('50')
    await button(edit, 'Try it: pad_1').tap()
    await button(edit, 'arm-1 moves: press again').tap()
    await seen(page, /arm-1 is busy: Go to/)
    assert.equal(await button(page, 'Jog z +').isDisabled(), true)
    await seen(page, 'Stands 50 mm above pad_1.')
    const there = await poseOf(bench)
    assert.deepEqual(
      [there.x, there.y, there.z].map(Math.round),
      [stored.x, stored.y, stored.z + 50].map(Math.round),
      'the arm is above the point',
    )
    await picture(page, 'teach-tried')
  }),

  'an arm is freed, is held again by a large button, and is not left free by a screen that is left': withArm(async (bench) => {
    const page = await teaching(bench)
    const again = button(page, 'Hold the arm')
    const free = async () => {
      await button(page, 'Free the arm').tap()
      await button(page, 'Keep a hand on the arm: press again').tap()
    }
    const freed = () => moving(bench, 'free_drive', again, [free, async () => {}])
    const letGoOf = async (operation_id: string, how: string, letGo: () => Promise<void>) => {
      const at = Date.now()
      await letGo()
      report(how, at, (await endOf(bench, operation_id)).ended)
    }
    await letGoOf(await freed(), 'Hold the arm', () => again.tap())
    const operation_id = await freed()
    const box = (await again.boundingBox())!
    assert.ok(box.y + box.height <= 480 && box.height >= 64, JSON.stringify(box))
    await seen(page, /It holds its position by itself in [12]:\d\d/)
    await picture(page, 'teach-free')
    await letGoOf(operation_id, 'another screen is shown', () => goTo(page, 'deck'))
    await goTo(page, 'teach')
    await freed()
    // The check by axe comes last: it blocks the page, so a slow computer renews the free drive too late, and the arm holds its position again.
    assert.deepEqual(await findingsOf(page), [])
  }),

  'an arm that would refuse is not offered for motion: the page says why, and leads to the next step': withArm(async (bench) => {
    const page = await teaching(bench)
    const jog = button(page, 'Jog x +')
    await bench.ask('POST', '/api/devices/arm-1/stop')
    await seen(page, 'arm-1 is stopped.')
    assert.equal(await jog.isDisabled(), true)
    assert.equal(await button(page, 'Try it: pad_1').isDisabled(), true)
    await button(page, 'Initialize arm-1').tap()
    await button(page, 'The devices may move: press again').tap()
    await page.getByText('arm-1 is stopped.').waitFor({ state: 'detached' })
    while (await jog.isDisabled()) await page.waitForTimeout(100)
    await bench.ask('PUT', '/api/devices/arm-1/lock', { owner: 'night shift', ttl_s: 600 })
    await seen(page, 'arm-1 is reserved by night shift.')
    assert.equal(await jog.isDisabled(), true)
    await bench.ask('DELETE', '/api/devices/arm-1/lock')
    while (await jog.isDisabled()) await page.waitForTimeout(100)
    for (const dark of [false, true]) {
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
      assert.deepEqual(await findingsOf(page), [])
      assert.deepEqual(await smallTargets(page), [])
    }
    for (const name of ['Save here: pad_1', 'Try it: pad_1', 'Jog yaw +', 'STOP ALL', 'pad_1']) {
      const box = (await button(page, name).boundingBox())!
      assert.ok(box.y >= 0 && box.y + box.height <= 480, `${name} is in view together with the others: ${JSON.stringify(box)}`)
    }
  }),
}

/** A check on a bench of its own, in real time, whose arm is initialized. */
function withArm(check: Check): Check {
  return async () => {
    const bench = await openBench({ time_scale: 1 })
    try {
      await bench.ask('POST', '/api/devices/arm-1/initialize')
      await check(bench)
      assert.deepEqual(bench.complaints, [])
    } finally {
      await bench.close()
    }
  }
}

/** The screen Teach with a point that is chosen. */
async function teaching(bench: Bench): Promise<Page> {
  const page = await bench.open('/#/teach', screen)
  await button(page, 'pad_1').tap()
  await page.getByRole('region', { name: 'Teachpoint pad_1' }).waitFor()
  while (await button(page, 'Jog x +').isDisabled()) await page.waitForTimeout(100)
  return page
}

/** A finger, which the browser follows as one on a screen. */
async function touchOf(page: Page) {
  const cdp: CDPSession = await page.context().newCDPSession(page)
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd' | 'touchCancel', touchPoints: { x: number; y: number }[]) =>
    cdp.send('Input.dispatchTouchEvent', { type, touchPoints })
  return {
    async down(what: Locator) {
      const { x, y, width, height } = (await what.boundingBox())!
      await send('touchStart', [{ x: x + width / 2, y: y + height / 2 }])
    },
    slide: (x: number, y: number) => send('touchMove', [{ x, y }]),
    up: () => send('touchEnd', []),
    cancel: () => send('touchCancel', []),
  }
}

/** Holds a key that the keyboard repeats. */
async function keyDown(page: Page, what: Locator): Promise<void> {
  await page.bringToFront()
  if (!(await what.isVisible())) {
    await goTo(page, 'teach')
    await what.waitFor()
  }
  while (await what.isDisabled()) await page.waitForTimeout(50)
  await what.focus()
  for (let n = 0; n < 3; n++) await page.keyboard.down('Enter')
}

/** Tells the page that its tab is hidden. */
function hide(page: Page): Promise<unknown> {
  return page.evaluate(
    `Object.defineProperty(document, 'hidden', { value: true, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

function countOf(page: Page, path: string): { count: number } {
  const its = { count: 0 }
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith(path)) its.count++
  })
  return its
}

/** The sentence with which the page says that the arm moves along an axis. */
function seenMoving(page: Page, axis: string): Locator {
  return page.getByText(`arm-1 moves along ${axis}.`).filter({ visible: true }).first()
}

/** How a motion is begun, and how a person lets go of what began it. */
type Way = [begin: () => Promise<unknown>, release: () => Promise<unknown>]
type Arm = { operation: { operation_id: string; name: string } | null; last_operation: { operation_id: string } | null }

/**
 * Begins a motion, and returns its id while the arm carries it out and the page shows it. Where the computer was too slow to renew it, it has
 * ended by itself: then it is let go of and begun again, as a person does.
 */
async function moving(bench: Bench, name: string, shown: Locator, [begin, release]: Way): Promise<string> {
  const arm = async () => (await bench.ask('GET', '/api/devices/arm-1')) as Arm
  for (let left = 5; left > 0; left--) {
    const before = (await arm()).last_operation?.operation_id
    await begin()
    for (;;) {
      const { operation, last_operation } = await arm()
      if (operation?.name === name && (await shown.isVisible())) return operation.operation_id
      if (!operation && last_operation?.operation_id !== before) break
      await sleep(20)
    }
    await release()
  }
  throw new Error(`${name} ends before the page shows it`)
}

/** Waits for the end of an operation. */
async function endOf(bench: Bench, operation_id: string): Promise<Operation> {
  for (;;) {
    const record = (await bench.ask('GET', `/api/operations/${operation_id}`)) as unknown as Operation
    if (record.status === 'ended') return record
    await sleep(20)
  }
}

/** Prints the time from letting go to the end of the operation, by the clock of the service. A figure, and no limit. */
function report(how: string, at_ms: number, ended_s: number): void {
  console.log(`        ${how}: the arm stood ${Math.round(ended_s * 1000 - at_ms)} ms later`)
}

type Coords = Record<'x' | 'y' | 'z', number>

async function poseOf(bench: Bench): Promise<Coords> {
  return (await bench.ask('GET', '/api/devices/arm-1/pose')).coords as Coords
}

async function pointOf(bench: Bench): Promise<Coords> {
  return (await bench.ask('GET', '/api/teachpoints/arm-1/pad_1')).coords as Coords
}

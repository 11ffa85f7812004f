// The deck as a picture: a live run, reserved places, panels by touch and by keyboard, people, with and without coordinates.

import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { type Bench, button, goTo, openBench, picture, pressTwice, seen, small } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

export const deckChecks: Record<string, Check> = {
  'a live run is seen on the deck: the plate rides on the arm, places are reserved, and a tap tells its journey': onBench(
    { time_scale: 10 },
    async (bench) => {
      for (const id of ['shaker-1', 'sealer-1', 'centrifuge-1', 'arm-1']) await bench.ask('POST', `/api/devices/${id}/initialize`)
      const page = await bench.open('/#/deck', { ...small, touch: true })
      await map(page).waitFor()
      const box = (await map(page).boundingBox())!
      assert.ok(box.y + box.height <= small.height, `the whole picture is in view: ${JSON.stringify(box)}`)
      assert.ok(
        await map(page)
          .getByText(/^\d+ mm$/)
          .isVisible(),
        'it has a scale bar',
      )
      assert.deepEqual(await smallParts(page), [])
      const places = watched(page)
      await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
      await place(page, /^shaker_in for plate, reserved/).waitFor()
      await plate(page, /plate, at shaker_in$/).waitFor()
      const ridden = await plate(page, /plate, at shaker_in$/)
        .locator('.moves')
        .getAttribute('style')
      assert.match(ridden!, /translate\(.+\)/)
      assert.match(await page.evaluate("getComputedStyle(document.querySelector('.plate .moves')).transitionProperty"), /transform/)
      await plate(page, /plate, at shaker_in$/).tap()
      const panel = about(page, 'plate')
      await seen(panel, /Moved plate from pad_1 to shaker_in/)
      await seen(panel, /Thread plate/)
      await picture(page, 'deck-plate')
      await uncovered(plate(page, /^plate/), panel)
      assert.deepEqual(await smallTargets(page), [])
      assert.equal(await panel.getByRole('link', { name: 'Run of seal-and-spin' }).count(), 1)
      await button(panel, 'Close').tap()
      await panel.waitFor({ state: 'detached' })
      // The run ends where it began.
      await place(page, /^pad_1: plate/).waitFor()
      await plate(page, /plate, at pad_1$/).waitFor()
      assert.ok((await places()).size >= 4, 'the plate was drawn at pad_1, the shaker, the sealer and the centrifuge')
    },
  ),

  'by keyboard, a place tells what it holds and who reaches it, and leads to its device and its teachpoint': async (bench) => {
    const page = await bench.open('/#/deck')
    await map(page).waitFor()
    await tabTo(page, 'sealer_in of sealer-1: free')
    assert.equal(await page.evaluate("getComputedStyle(document.activeElement.querySelector('.hit')).strokeWidth"), '3px')
    await page.keyboard.press('Enter')
    const panel = about(page, 'sealer_in')
    await seen(panel, 'Reached by arm-1.')
    await seen(panel, 'Free. One labware can stand here.')
    assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Close', 'the panel takes the focus')
    assert.equal(await panel.getByRole('link', { name: 'Show sealer-1' }).getAttribute('href'), '#/devices/sealer-1')
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    // The panel gives the focus back.
    await place(page, /^sealer_in/)
      .and(page.locator(':focus'))
      .waitFor()
    await page.keyboard.press(' ')
    await panel.getByRole('link', { name: 'Teach sealer_in of arm-1' }).click()
    await page.getByRole('region', { name: 'Teachpoint sealer_in' }).waitFor()
  },

  'labware that somebody carried is put right on the deck': onBench({}, async (bench) => {
    const page = await bench.open('/#/deck')
    await standing(bench)
    await plate(page, /^plate/).click()
    const panel = about(page, 'plate')
    await panel.getByText('Somebody moved it').click()
    await panel.getByLabel('New position').selectOption('pad_4')
    await button(panel, 'Save').click()
    await plate(page, /plate, at pad_4$/).waitFor()
    await place(page, /^pad_4: plate/).waitFor()
    await panel.getByLabel('New position').selectOption('off')
    await button(panel, 'Save').click()
    await plate(page, /^plate/).waitFor({ state: 'detached' })
    await seen(page.getByRole('complementary'), 'It has left the deck.')
  }),

  'without coordinates the deck is laid out by reach and says so, and its list has all that the picture has': onBench({}, async (bench) => {
    const { teachpoints } = (await bench.ask('GET', '/api/teachpoints?device_id=arm-1')) as { teachpoints: { name: string }[] }
    for (const { name } of teachpoints) await bench.ask('DELETE', `/api/teachpoints/arm-1/${name}`)
    const page = await bench.open('/#/deck', small)
    await seen(page, 'Not to scale: coordinates or room are missing.')
    const box = (await map(page).boundingBox())!
    assert.ok(box.y + box.height <= small.height)
    assert.deepEqual(await smallParts(page), [])
    await page.getByText('The deck as a list').click()
    await seen(page.getByRole('list', { name: 'Positions' }), 'pad_1: free')
    const listed = await page.getByRole('list', { name: 'Positions' }).getByRole('listitem').allTextContents()
    const drawn = (await page.evaluate("[...document.querySelectorAll('.deck-map [role=button]')].map((one) => one.ariaLabel)")) as string[]
    assert.equal(drawn.length, 8)
    for (const words of drawn) assert.ok(listed.includes(words), words)
    await place(page, /^pad_1/).click()
    await about(page, 'pad_1').getByRole('link', { name: 'Not taught: teach pad_1 of arm-1' }).waitFor()
    await button(about(page, 'pad_1'), 'Close').click()
    await page.getByText('Topology demo').click()
    await pressTwice(page, 'Unload topology')
    await button(page, 'Load demo').click()
    await map(page).waitFor()
  }),

  'a person is drawn as a person, and stretches to the plate of the task': onBench({ hands: {} }, async (bench) => {
    for (const id of ['shaker-1', 'sealer-1', 'hands']) await bench.ask('POST', `/api/devices/${id}/initialize`)
    const page = await bench.open('/#/deck', { width: 390, height: 844, dark: true })
    await map(page).getByText('hands', { exact: true }).waitFor()
    assert.equal(await map(page).locator('.hand').count(), 0, 'a person without a task may be anywhere')
    await bench.ask('POST', '/api/submissions', { workflow: 'shake-by-hand', run_mode: 'LIVE' })
    await place(page, /^pad_1 for plate, reserved/).waitFor()
    await button(page, 'Placed').click()
    await map(page).locator('.hand').waitFor()
    await plate(page, /^plate/).waitFor()
    await picture(page, 'deck-hands')
    assert.deepEqual(await findingsOf(page), [])
    assert.deepEqual(await smallTargets(page), [])
  }),

  'the deck has no finding of axe with a panel of a plate and of a place, in light and in dark': onBench({}, async (bench) => {
    await standing(bench)
    for (const dark of [false, true]) {
      const page = await bench.open('/#/deck', { ...small, dark })
      await plate(page, /^plate/).click()
      await seen(about(page, 'plate'), 'Journey')
      assert.deepEqual(await findingsOf(page), [])
      await about(page, 'plate')
        .getByRole('button', { name: /^About / })
        .click()
      await page.getByRole('complementary', { name: /^About (pad|shaker)/ }).waitFor()
      assert.deepEqual(await findingsOf(page), [])
      assert.deepEqual(await smallTargets(page), [])
    }
  }),

  async 'for who wants less motion nothing on the deck glides'(bench) {
    const page = await bench.open('/', { prepare: (page) => page.emulateMedia({ reducedMotion: 'reduce' }) })
    await goTo(page, 'deck')
    await map(page).locator('.moves').first().waitFor()
    const glides = "[...document.querySelectorAll('.moves')].map((one) => getComputedStyle(one).transitionProperty)"
    for (const property of (await page.evaluate(glides)) as string[]) assert.equal(property, 'none')
  },
}

function onBench(options: Parameters<typeof openBench>[0], check: (bench: Bench) => Promise<void>): Check {
  return async () => {
    const bench = await openBench(options)
    try {
      await check(bench)
      assert.deepEqual(bench.complaints, [])
    } finally {
      await bench.close()
    }
  }
}

function map(page: Page): Locator {
  return page.getByRole('group', { name: /^Deck of topology/ })
}

function place(page: Page, name: RegExp): Locator {
  return map(page).locator('.place').and(page.getByRole('button', { name }))
}

function plate(page: Page, name: RegExp): Locator {
  return map(page).locator('.plate').and(page.getByRole('button', { name }))
}

function about(page: Page, name: string): Locator {
  return page.getByRole('complementary', { name: `About ${name}`, exact: true })
}

/** Brings a plate onto the bench: of a run that is stopped at once. */
async function standing({ ask }: Bench): Promise<void> {
  const { execution_id } = await ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
  for (const confirm of [false, true]) await ask('POST', `/api/executions/${execution_id}/stop`, { confirm })
}

/** Collects where the plate is drawn, from now on; the answer returns the places. */
function watched(page: Page): () => Promise<Set<string>> {
  const begun = page.evaluate(`
    window.drawn = new Set()
    new MutationObserver(() => {
      const plate = document.querySelector('.plate .moves')
      if (plate) window.drawn.add(plate.style.transform)
    }).observe(document.querySelector('.deck-map'), { subtree: true, attributes: true, childList: true })
  `)
  return async () => {
    await begun
    return new Set((await page.evaluate('[...window.drawn]')) as string[])
  }
}

/** Presses Tab until the part of this label has the focus. */
async function tabTo(page: Page, label: string): Promise<void> {
  for (let left = 60; (await page.evaluate('document.activeElement.ariaLabel')) !== label; left--) {
    assert.ok(left > 0, `Tab never came to ${label}`)
    await page.keyboard.press('Tab')
  }
}

/** Fails where the panel covers a part of the picture entirely. */
async function uncovered(part: Locator, panel: Locator): Promise<void> {
  const [its, over] = [(await part.boundingBox())!, (await panel.boundingBox())!]
  const isCovered =
    its.x >= over.x && its.x + its.width <= over.x + over.width && its.y >= over.y && its.y + its.height <= over.y + over.height
  assert.ok(!isCovered, 'the panel covers what was tapped')
}

/** The parts of the picture that are too small for a finger. */
function smallParts(page: Page): Promise<string[]> {
  return page.evaluate(
    '[...document.querySelectorAll(".deck-map .hit")].filter((one) => one.getBoundingClientRect().height < 48 || one.getBoundingClientRect().width < 48).map((one) => one.outerHTML)',
  )
}

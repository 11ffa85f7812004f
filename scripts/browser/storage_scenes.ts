// A storage on the page: its inventory, its card, and its transfer station on the deck.

import assert from 'node:assert/strict'
import { type Bench, button, card, desk, openBench, phone, picture, scan, seen, small } from './bench.ts'
import { type Check, findingsOf, smallTargets } from './bench_page.ts'

const held = Array.from({ length: 12 }, (_, i) => i + 1)
const incubator = { device_id: 'incubator-1', driver: 'cytomat', transport: { kind: 'simulated' }, settings: { simulated_plates: held } }
const stored = (slots: number) => ({
  format: 1,
  name: 'stored',
  transporters: { 'arm-1': { positions: ['door', 'pad_1', 'shaker_in'] }, 'incubator-1': { positions: ['door', 'incubator'] } },
  positions: { door: {}, pad_1: {}, shaker_in: { device: 'shaker-1' }, incubator: { slots } },
})

export const storageChecks: Record<string, Check> = {
  'the screen of a storage shows its inventory: labware is found, retrieved, stored and corrected': onBench(async (bench) => {
    const page = await bench.open('/#/devices/incubator-1')
    const inventory = page.getByRole('region', { name: 'Inventory' })
    await seen(inventory, /no topology is loaded|the loaded topology has no slots of it/)
    await loaded(bench)
    await filled(bench, 12)
    await seen(inventory, '12 of 42 slots taken.')
    await seen(card(page, 'incubator-1'), /humidity [\d.]+ %.* CO2 [\d.]+ %/)
    assert.equal(await inventory.getByRole('row').count(), 13)
    await scan(page, 'P-7')
    await inventory.getByRole('row', { name: /^7 P-7/ }).waitFor()
    assert.equal(await inventory.getByRole('row').count(), 2)
    await button(inventory, 'Retrieve slot 7').click()
    await seen(inventory, 'Transfer station door: plate P-7.')
    await seen(inventory, '11 of 42 slots taken.')
    await seen(inventory, 'No slot has labware with this barcode.')
    await button(inventory, 'Show all').click()
    assert.equal(await button(inventory, 'Retrieve slot 3').isDisabled(), true)
    await button(inventory, 'Store from door').click()
    await inventory.getByRole('row', { name: /^7 P-7/ }).waitFor()
    await seen(card(page, 'incubator-1'), 'Stored in slot 7.')
    await inventory.getByText('Correct a slot').click()
    await inventory.getByRole('textbox', { name: 'Slot', exact: true }).fill('42')
    await seen(inventory, 'It is empty.')
    await page.getByRole('heading', { name: 'Inventory' }).click()
    await scan(page, 'P-42')
    await inventory.getByLabel('Type', { exact: true }).fill('384-well')
    await button(inventory, 'Save').click()
    await inventory.getByRole('row', { name: /^42 P-42 384-well/ }).waitFor()
    await inventory.getByLabel('Content').selectOption('Empty')
    await button(inventory, 'Save').click()
    await inventory.getByRole('row', { name: /^42 / }).waitFor({ state: 'detached' })
  }),

  'a storage fits each screen without a finding of axe, and says on its card and on the deck how full it is': onBench(async (bench) => {
    await loaded(bench)
    await filled(bench, 12)
    for (const size of [desk, small, phone]) {
      const page = await bench.open('/#/devices/incubator-1', { ...size, dark: size === phone })
      const inventory = page.getByRole('region', { name: 'Inventory' })
      await seen(inventory, '12 of 42 slots taken.')
      await inventory.getByText('Correct a slot').click()
      assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= size.width, `wider than ${size.width}`)
      assert.deepEqual(await findingsOf(page), [])
      assert.deepEqual(await smallTargets(page), [])
      await picture(page, `storage-${size.width}`)
      await page.evaluate("location.hash = '#/bench'")
      await card(page, 'incubator-1').getByText('12 of 42 slots taken').waitFor()
      await button(card(page, 'incubator-1'), 'Retrieve').waitFor()
      await picture(page, `storage-bench-${size.width}`)
      await page.evaluate("location.hash = '#/deck'")
      await page.getByText(/12 of 42$/).waitFor()
      await page.getByRole('button', { name: /^door of incubator-1: free/ }).waitFor()
      assert.deepEqual(await findingsOf(page), [])
      await picture(page, `storage-deck-${size.width}`)
    }
  }),

  'labware that may be in two places has its remedy beside it': onBench(async (bench) => {
    await loaded(bench)
    await filled(bench, 3)
    const page = await bench.open('/#/devices/incubator-1', small)
    const inventory = page.getByRole('region', { name: 'Inventory' })
    await button(inventory, 'Retrieve slot 2').click()
    await card(page, 'incubator-1').getByText('busy', { exact: true }).waitFor()
    await bench.ask('POST', '/api/devices/incubator-1/stop')
    await seen(inventory, /^plate P-2 is .* or .*\. Look where it is, and say so:/)
    await inventory.getByText('Somebody moved it').click()
    await picture(page, 'storage-uncertain')
    assert.deepEqual(await findingsOf(page), [])
    await inventory.getByLabel('New position of P-2').selectOption('door')
    await button(inventory, 'Save').click()
    await seen(inventory, 'Transfer station door: plate P-2.')
    await seen(inventory, '2 of 42 slots taken.')
    await inventory.getByText('Somebody moved it').waitFor({ state: 'detached' })
  }),

  'what a balance weighed and a scanner read is on their cards, with the readings of the new instruments': async () => {
    const bench = await openBench({
      devices: [
        { device_id: 'balance-1', driver: 'mettler_sics', transport: { kind: 'simulated' } },
        { device_id: 'scanner-1', driver: 'keyence_bl', transport: { kind: 'simulated' } },
        { device_id: 'cycler-1', driver: 'opentrons_thermocycler', transport: { kind: 'simulated' } },
      ],
    })
    try {
      for (const id of ['balance-1', 'scanner-1', 'cycler-1']) await bench.ask('POST', `/api/devices/${id}/initialize`)
      const page = await bench.open('/')
      await button(card(page, 'balance-1'), 'Weigh').click()
      await seen(card(page, 'balance-1'), /^Weighed -?[\d.]+ g\./)
      await button(card(page, 'scanner-1'), 'Scan').click()
      await seen(card(page, 'scanner-1'), /^Read (barcode \S+|no barcode)\./)
      await seen(card(page, 'balance-1'), /^weight -?[\d.]+ g/)
      await seen(card(page, 'cycler-1'), /lid temperature [\d.]+ °C/)
      await picture(page, 'storage-values')
      assert.deepEqual(await findingsOf(page), [])
    } finally {
      await bench.close()
    }
  },

  'of a large storage at most 200 rows are shown, and the rest on request': onBench(async (bench) => {
    await loaded(bench)
    await filled(bench, 500)
    const page = await bench.open('/#/devices/incubator-1', small)
    const inventory = page.getByRole('region', { name: 'Inventory' })
    await seen(inventory, '500 of 500 slots taken.')
    assert.equal(await inventory.getByRole('row').count(), 201)
    await inventory.getByLabel('Search by barcode').fill('P-45')
    await inventory.getByRole('row', { name: /^459 P-459/ }).waitFor()
    assert.equal(await inventory.getByRole('row').count(), 12)
    await button(inventory, 'Show all').click()
    await button(inventory, 'Show 300 more').click()
    await inventory.getByRole('row', { name: /^500 P-500/ }).waitFor()
  }, 500),
}

function onBench(check: (bench: Bench) => Promise<void>, slots = 42): Check {
  return async () => {
    const bench = await openBench({ devices: [slots === 42 ? incubator : large(slots)], topologies: [stored(slots)] })
    try {
      await check(bench)
      assert.deepEqual(bench.complaints, [])
    } finally {
      await bench.close()
    }
  }
}

/** A storage with many slots. */
function large(slots: number): object {
  const racks = Array.from({ length: slots / 25 }, () => ({ slots: 25 }))
  return { ...incubator, settings: { racks } }
}

/** Loads the topology with the slots of the storage, and initializes it. */
async function loaded({ ask }: Bench): Promise<void> {
  const coords = { x: 350, y: 450, z: 40, yaw: 0, pitch: 0, roll: 0 }
  await ask('POST', '/api/teachpoints', { device_id: 'arm-1', name: 'door', coord_type: 'cartesian', coords })
  await ask('POST', '/api/topology/load', { name: 'stored', force: true })
  await ask('POST', '/api/devices/incubator-1/initialize')
}

/** Says that there is labware in the first slots. */
async function filled({ ask }: Bench, slots: number): Promise<void> {
  const all = Array.from({ length: slots }, (_, i) => ({ slot: i + 1, labware: { barcode: `P-${i + 1}`, type: '96-well' } }))
  await ask('PUT', '/api/devices/incubator-1/inventory', { slots: all })
}

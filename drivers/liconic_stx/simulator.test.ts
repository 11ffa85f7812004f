import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './models.ts'
import { simulate } from './simulator.ts'

function instrument(chosen: object = {}) {
  const its = switchedOn(simulate, v.parse(settings, chosen), { ending: '\r' })
  return { ...its, ask: (...words: string[]) => its.ask(words.join('\r')) }
}

async function ready(chosen: object = {}) {
  const on = instrument(chosen)
  await on.ask('CR', 'ST 1801')
  await on.clock.advance(30_000)
  return on
}

test('it answers nothing but E1 until the communication is opened, and when it is closed again', async (t) => {
  const { ask } = instrument()
  t.same([await ask('RD 1915'), await ask('HELLO'), await ask('CR'), await ask('RD 1915')], ['E1\r\n', 'E1\r\n', 'CC\r\n', '1\r\n'])
  t.same([await ask('CQ'), await ask('RD 1915')], ['CF\r\n', 'E1\r\n'])
})

test('it is not ready while it moves', async (t) => {
  const { ask, clock } = instrument()
  t.equal(await ask('CR', 'ST 1801', 'RD 1915'), 'CC\r\nOK\r\n0\r\n')
  await clock.advance(30_000)
  t.equal(await ask('RD 1915'), '1\r\n')
})

test('it carries a plate to the rack and level in its memories, and back', async (t) => {
  const { ask, clock, places } = await ready({ racks: [{ slots: 22 }, { slots: 10 }] })
  places.put('station')
  t.equal(await ask('WR DM0 2', 'WR DM5 00003', 'ST 1904', 'RD 1915', 'RD DM5'), 'OK\r\nOK\r\nOK\r\n0\r\n00003\r\n')
  await clock.advance(8000)
  t.equal(await ask('RD 1812', 'RD 1813'), '1\r\n0\r\n', 'the plate is on the shovel')
  await clock.advance(20_000)
  t.same([await ask('RD 1812', 'RD 1813', 'RD 1915'), places.has(25)], ['0\r\n0\r\n1\r\n', true])
  await ask('ST 1905')
  await clock.advance(25_000)
  t.same([await ask('RD 1813', 'RD 1914'), places.has(25)], ['1\r\n1\r\n', false])
})

test('a motion that cannot be is taken, and shows as an error until it is reset', async (t) => {
  const { ask, clock, places, simulator } = await ready()
  const errorOf = (...words: string[]) => ask(...words).then(() => ask('RD 1915', 'RD 1814', 'RD DM200'))
  const again = async () => {
    await ask('ST 1900', 'ST 1801')
    await clock.advance(30_000)
  }
  t.equal(await errorOf('WR DM0 3', 'WR DM5 1', 'ST 1905'), '0\r\n1\r\n00012\r\n')
  await ask('ST 1900', 'WR DM0 1')
  t.equal(await errorOf('ST 1905'), '0\r\n1\r\n00014\r\n', 'after an error it has to find its reference position')
  await again()
  places.put('station')
  places.put(1)
  t.equal(await errorOf('ST 1905'), '0\r\n1\r\n00013\r\n')
  await again()
  await ask('ST 1904')
  await clock.advance(25_000)
  t.same([await errorOf(), places.has('handler')], ['0\r\n1\r\n00108\r\n', true])
  t.equal(await errorOf('ST 1900', 'ST 1801'), '0\r\n1\r\n00015\r\n')
  places.take('handler')
  await again()
  await ask('ST 1905')
  await clock.advance(8000)
  simulator.setFault('jam', true)
  t.equal(await errorOf(), '0\r\n1\r\n00009\r\n')
  simulator.setFault('jam', false)
  t.ok(places.has(1), 'the person who frees the shuttle puts the plate back')
  t.notOk(simulator.setFault('overtemperature', true))
})

test('it has the flags and memories of its model, and others it refuses', async (t) => {
  const { ask } = await ready()
  t.equal(await ask('RD DM999', 'WR DM999 1', 'RD 7777', 'ST 7777', 'RS 7777', 'ST 1913'), 'E0\r\nE0\r\nE0\r\nE0\r\nE0\r\nE0\r\n')
  t.equal(await ask('WR DM200 1', 'WR DM5', 'WR DM5 123456', 'XX'), 'E4\r\nE1\r\nE1\r\nE1\r\n')
  t.equal(await ask('RD DM109', 'RD DM890', 'RD DM893', 'RD DM984'), '04711\r\n00370\r\n00900\r\n00492\r\n')
})

test('its shaker turns while its flag is set', async (t) => {
  const { ask, clock, simulator } = await ready({ shaker: true })
  t.equal(await ask('WR DM39 00060', 'ST 1913', 'RD 1913'), 'OK\r\nOK\r\n1\r\n')
  await clock.advance(5000)
  t.ok(simulator.world.moving)
  t.equal(await ask('RS 1913', 'RD 1913'), 'OK\r\n0\r\n')
  await clock.advance(3000)
  t.notOk(simulator.world.moving)
})

test('switched off it says nothing and leaves no timer', async (t) => {
  const { ask, clock, simulator } = instrument()
  await ask('CR', 'ST 1801')
  simulator.powerOff()
  t.equal(await ask('RD 1915'), '')
  t.equal(clock.timers, 0)
})

import { test } from 'tap'
import * as v from 'valibot'
import { switchedOn } from '../../src/testing/drivers/switched_on.ts'
import { settings } from './models.ts'
import { simulate } from './simulator.ts'

const instrument = (chosen: object = {}) => switchedOn(simulate, v.parse(settings, chosen), { ending: '\r' })

async function ready(chosen: object = {}) {
  const on = instrument(chosen)
  await on.ask('ll:in')
  await on.clock.advance(30_000)
  return on
}

test('it takes CR and CR LF, and answers with CR', async (t) => {
  const { ask, hear } = instrument()
  t.equal(await ask('ch:bs'), 'bs 00\r')
  hear('ch:bs\r\n')
  t.equal(await ask(''), 'bs 00\r')
  t.equal(await ask('CH:BS'), 'bs 00\r')
})

test('it is busy while it finds its reference positions, and ready afterwards', async (t) => {
  const { ask, clock } = instrument()
  t.equal(await ask('mv:ts 001'), 'er 11\r')
  t.equal(await ask('ll:in'), 'ok 01\r')
  t.equal(await ask('ll:in'), 'er 01\r')
  t.equal(await ask('ch:bs'), 'bs 01\r')
  await clock.advance(30_000)
  t.equal(await ask('ch:bs'), 'bs 02\r')
})

test('it carries a plate to its slot and back', async (t) => {
  const { ask, clock, places } = await ready({ simulated_plates: [5] })
  t.equal(await ask('mv:ts 001'), 'er 31\r')
  places.put('station')
  t.equal(await ask('mv:st 005'), 'er 32\r')
  t.equal(await ask('mv:ts 001'), 'ok A1\r')
  await clock.advance(8000)
  t.equal(await ask('ch:bs'), 'bs 11\r', 'the plate is on the handler')
  await clock.advance(20_000)
  t.same([await ask('ch:bs'), places.has(1), places.has('station')], ['bs 02\r', true, false])
  t.equal(await ask('mv:st 005'), 'ok 01\r')
  await clock.advance(25_000)
  t.same([await ask('ch:bs'), places.has(5)], ['bs 82\r', false])
})

test('what goes wrong stands in its error register until it is reset', async (t) => {
  const { ask, clock, places, simulator } = await ready()
  await ask('mv:st 005')
  await clock.advance(25_000)
  t.same([await ask('ch:bs'), await ask('ch:be')], ['bs 08\r', 'be 02\r'])
  t.equal(await ask('rs:be'), 'ok 00\r')
  t.equal(await ask('mv:st 005'), 'er 11\r', 'it has to be initialized again')
  await ask('ll:in')
  await clock.advance(30_000)
  places.put('station')
  places.put(5)
  await ask('mv:ts 005')
  await clock.advance(25_000)
  t.same([await ask('ch:bs'), await ask('ch:be'), await ask('ll:in')], ['bs 18\r', 'be 03\r', 'er 21\r'])
  places.take('handler')
  await ask('ll:in')
  await clock.advance(30_000)
  places.put('station')
  await ask('mv:ts 006')
  await clock.advance(8000)
  t.ok(simulator.setFault('jam', true))
  t.same([await ask('ch:bs'), await ask('ch:be'), simulator.world.moving], ['bs 18\r', 'be 05\r', false])
  simulator.setFault('jam', false)
  t.ok(places.has('station'), 'the person who frees the shuttle puts the plate back')
  t.ok(simulator.setFault('interlock_open', true))
  t.equal(await ask('ch:bs'), 'bs C8\r')
  t.notOk(simulator.setFault('overtemperature', true))
})

test('its shakers turn at the speed that is set, and are still some seconds after a stop', async (t) => {
  const { ask, clock, simulator } = await ready({ model: 'Cytomat 2 C450 Shake' })
  t.equal(await ask('ll:vd'), 'er 61\r')
  t.same([await ask('se:pb 20 0800'), await ask('ch:pb 20'), await ask('ch:pb 21')], ['ok 02\r', 'pb 0800\r', 'pb 0500\r'])
  t.same([await ask('se:pb 20 5000'), await ask('se:pb 22 0500'), await ask('se:pb 20 80')], ['er 04\r', 'er 04\r', 'er 04\r'])
  await ask('ll:va')
  await clock.advance(10_000)
  t.ok(simulator.world.moving)
  t.equal(await ask('ll:vd'), 'ok 01\r')
  await clock.advance(3000)
  t.notOk(simulator.world.moving)
  const { ask: other } = await ready()
  t.same([await other('ll:va'), await other('se:pb 20 0800'), await other('ch:pb 20')], ['er 02\r', 'er 04\r', 'er 02\r'])
})

test('its climate is shown and set', async (t) => {
  const { ask } = await ready()
  t.match(await ask('ch:it'), /^it \+37\.0 \+\d\d\.\d\r$/)
  t.equal(await ask('ll:it 30.5'), 'ok 02\r')
  t.match(await ask('ch:it'), /^it \+30\.5 /)
  t.same([await ask('ch:ih'), await ask('ch:ic')], ['ih +95.0 +93.4\r', 'ic +5.0 +4.9\r'])
})

test('what it does not know it refuses', async (t) => {
  const { ask } = await ready({ model: 'Cytomat 2 C425' })
  const answers = { 'ch:xx': 'er 02', 'll:xx': 'er 02', hello: 'er 03', 'mv:ts 001': 'er 05', 'mv:ts x': 'er 04', 'mv:ts 02 00': 'er 05' }
  for (const [words, answer] of Object.entries(answers)) t.equal(await ask(words), `${answer}\r`, words)
  t.same([await ask('ll:gp 002'), await ask('ll:gp 001')], ['ok 22\r', 'ok 02\r'])
  t.equal(await ask('mv:ts 01 20'), 'er 31\r')
})

test('switched off it says nothing and leaves no timer', async (t) => {
  const { ask, clock, simulator } = instrument()
  await ask('ll:in')
  simulator.powerOff()
  t.equal(await ask('ch:bs'), '')
  t.equal(clock.timers, 0)
})

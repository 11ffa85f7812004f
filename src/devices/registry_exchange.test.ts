// Devices that are exchanged while the service runs.

import { type Test, test } from 'tap'
import type { Driver } from '../../drivers/driver.ts'
import { drivers } from '../../drivers/index.ts'
import { oneDevice } from '../testing/devices.ts'

/** A shaker that heats. */
async function heated(t: Test) {
  const bench = await oneDevice(t, (await drivers.bioshake()) as Driver)
  await bench.start()
  await bench.perform('initialize', {})
  await bench.perform('set_temperature', { temperature: 60 })
  t.ok(bench.link.simulator.world.heating)
  return bench
}

test('what is replaced is switched off and closed, and the other one is only asked', async (t) => {
  const { clock, registry, link, leftOn, another, instrument } = await heated(t)
  const next = another()
  await clock.run(registry.exchange([next.configured], ['d']).complete())
  t.notOk(link.simulator.world.heating)
  t.equal(link.state, 'closed')
  t.same(leftOn(), [])
  await clock.advance(5000)
  t.match(registry.find('d').info(), { state: 'not_initialized', fault: null })
  t.notOk(
    next.written.some((text) => /On|Off|set/.test(text)),
    next.written.join(' '),
  )
  await t.rejects(instrument.perform('initialize', {}), { code: 'stopping', message: /configuration has changed/ })
})

test('a device in the place of another keeps the advice about its connection', async (t) => {
  const { clock, registry, another } = await heated(t)
  const next = another()
  Object.assign(next.link, { advice: 'see its program' })
  await clock.run(registry.exchange([next.configured], ['d']).complete())
  await clock.advance(5000)
  next.link.setFault('unplug')
  t.match(registry.find('d').info(), { fault: { error: /the connection was lost: .*; see its program, then initialize/ } })
})

test('a stop in the midst of it goes to the old one at once, to the new one first of all, and is latched', async (t) => {
  const { clock, registry, link, written, another } = await heated(t)
  link.setFault('no_reply')
  const next = another()
  const completed = registry.exchange([next.configured], ['d']).complete()
  written.length = 0
  const halting = registry.halt('d').catch((error) => error)
  const [sent] = written
  t.ok(sent, 'the bytes are on the old wire when halt returns')
  t.equal(link.state, 'open')
  await clock.run(halting)
  await clock.run(completed)
  await clock.advance(5000)
  t.equal(link.state, 'closed')
  t.equal(next.written[0], sent, 'nothing comes before it')
  t.match(registry.find('d').info(), { state: 'stopped', fault: { error_type: 'Stopped' } })
})

test('a stop reaches what is being removed, also one of all devices', async (t) => {
  for (const stop of ['halt', 'haltAll'] as const) {
    const { clock, registry, link, written } = await heated(t)
    link.setFault('no_reply')
    const completed = registry.exchange([], []).complete()
    t.throws(() => registry.find('d'), { code: 'not_found' })
    written.length = 0
    const halting = (stop === 'halt' ? registry.halt('d') : registry.haltAll()).catch((error) => error)
    t.ok(written.length, 'the bytes are on the wire when it returns')
    await clock.run(halting)
    await clock.run(completed)
    t.equal(link.state, 'closed')
    t.throws(() => registry.halt('d'), { code: 'not_found' })
  }
})

test('a halt that the old one has not acknowledged is repeated on the new one; without a new one it is refused', async (t) => {
  const { clock, registry, link, leftOn, another, written, instrument } = await heated(t)
  link.setFault('no_reply')
  written.length = 0
  const halting = registry.halt('d').catch(() => {})
  const [sent] = written
  await clock.run(halting)
  await clock.advance(10_000)
  t.throws(() => instrument.condition.mustBeOff(), { code: 'conflict', message: /d has not acknowledged its last halt/ })
  const next = another()
  await clock.run(registry.exchange([next.configured], ['d']).complete())
  await clock.advance(20_000)
  t.ok(next.written.includes(sent!), next.written.join(' '))
  t.same(leftOn(), [])
  registry.find('d').condition.mustBeOff()
})

test('what is undone was never begun', async (t) => {
  const { registry, link, another, perform } = await heated(t)
  const next = another()
  const { undo } = registry.exchange([next.configured], ['d'])
  undo()
  t.equal(link.state, 'open')
  await perform('initialize', {})
  t.same(next.written, [])
})

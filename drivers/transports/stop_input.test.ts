import { test } from 'tap'
import { LabError } from '../../src/errors.ts'
import { VirtualClock } from '../../src/kit/clock.ts'
import type { Hardware } from './board.ts'
import type { Pin, PinUse } from './pin.ts'
import { stopInput } from './stop_input.ts'

function contact() {
  const clock = new VirtualClock()
  const heard: string[] = []
  const edges = new Set<(active: boolean) => void>()
  let lose = (_reason: string) => {}
  const state = { active: false, there: true, readable: true, pulls: true, opened: 0, closed: 0, uses: [] as PinUse[] }
  const pin: Pin = {
    async read() {
      if (!state.readable) throw new LabError('device_failed', 'it cannot be read')
      return state.active
    },
    async write() {},
    async writeNow() {},
    onEdge(listen) {
      edges.add(listen)
      return () => edges.delete(listen)
    },
    async close() {
      state.closed++
    },
  }
  const hardware: Pick<Hardware, 'openPin'> = {
    async openPin(_place, use, lost) {
      if (use.pull && !state.pulls) throw new LabError('config', 'there are no pull resistors')
      state.uses.push(use)
      if (!state.there) throw new LabError('disconnected', 'there is no such pin')
      state.opened++
      lose = lost
      return pin
    },
  }
  const told = { pressed: () => heard.push('pressed'), failed: (reason: string) => heard.push(reason) }
  const start = () => stopInput({ bcm: 5, active_low: false }, hardware, clock, told)
  const press = (active: boolean) => {
    state.active = active
    for (const tell of edges) tell(active)
  }
  return { clock, heard, state, start, press, lose: (reason: string) => lose(reason) }
}

test('a contact that is pressed stops, and one that is let go does not', async (t) => {
  const { clock, heard, start, press } = contact()
  const input = start()
  await clock.advance(0)
  press(true)
  press(false)
  t.same(heard, ['pressed'])
  t.equal(input.trouble, undefined)
  await input.close()
})

test('a contact that is pressed already at the start stops', async (t) => {
  const { clock, heard, state, start } = contact()
  state.active = true
  const input = start()
  await clock.advance(0)
  t.same(heard, ['pressed'])
  await input.close()
})

test('a pin that cannot be had is told once, and taken when it can', async (t) => {
  const { clock, heard, state, start, press, lose } = contact()
  state.there = false
  const input = start()
  await clock.advance(10_000)
  t.same(heard, ['there is no such pin'])
  t.match(input.trouble, /no such pin/)
  state.there = true
  await clock.advance(2000)
  t.equal(input.trouble, undefined)
  lose('the chip is gone')
  await clock.advance(2000)
  t.equal(state.opened, 2)
  press(true)
  t.same(heard, ['there is no such pin', 'the chip is gone', 'pressed'])
  await input.close()
  t.equal(clock.timers, 0)
})

test('where nothing can switch a pull resistor on, it is opened without', async (t) => {
  const { clock, heard, state, start, press } = contact()
  state.pulls = false
  const input = start()
  await clock.advance(0)
  press(true)
  t.same(state.uses, [{ mode: 'in', active_low: false }])
  t.equal(input.trouble, undefined)
  t.same(heard, ['pressed'])
  await input.close()
})

test('a contact whose edge was lost stops all the same, once', async (t) => {
  const { clock, heard, state, start, press } = contact()
  const input = start()
  await clock.advance(0)
  state.active = true
  await clock.advance(1000)
  t.same(heard, ['pressed'])
  press(false)
  press(true)
  await clock.advance(1000)
  t.same(heard, ['pressed', 'pressed'], 'and again when it is pressed again')
  await input.close()
  t.equal(clock.timers, 0)
})

test('a pin that fails is let go of before it is opened anew, and one press is told once', async (t) => {
  const { clock, heard, state, start, press, lose } = contact()
  const input = start()
  await clock.advance(0)
  lose('the chip is gone')
  lose('the chip is gone')
  t.equal(input.trouble, 'the chip is gone')
  await clock.advance(2000)
  t.match(state, { opened: 2, closed: 1 })
  press(true)
  t.same(heard, ['the chip is gone', 'pressed'])
  await input.close()
  t.equal(state.closed, 2)
  t.equal(clock.timers, 0)
})

test('a pin that cannot be read any more is trouble', async (t) => {
  const { clock, heard, state, start } = contact()
  const input = start()
  await clock.advance(0)
  state.readable = false
  await clock.advance(1000)
  t.equal(input.trouble, 'it cannot be read')
  t.same(heard, ['it cannot be read'])
  state.readable = true
  await clock.advance(2000)
  t.equal(input.trouble, undefined)
  await input.close()
})

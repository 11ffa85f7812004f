import { test } from 'tap'
import { LabError } from '../../src/errors.ts'
import { VirtualClock } from '../../src/kit/clock.ts'
import type { Hardware } from './board.ts'
import type { Pin } from './pin.ts'
import { stopInput } from './stop_input.ts'

function contact() {
  const clock = new VirtualClock()
  const heard: string[] = []
  let edge = (_active: boolean) => {}
  let lose = (_reason: string) => {}
  const state = { active: false, there: true, opened: 0 }
  const pin: Pin = {
    read: async () => state.active,
    async write() {},
    async writeNow() {},
    onEdge(listen) {
      edge = listen
      return () => {}
    },
    async close() {},
  }
  const hardware: Pick<Hardware, 'openPin'> = {
    async openPin(_place, _use, lost) {
      if (!state.there) throw new LabError('disconnected', 'there is no such pin')
      state.opened++
      lose = lost
      return pin
    },
  }
  const told = { pressed: () => heard.push('pressed'), failed: (reason: string) => heard.push(reason) }
  const start = () => stopInput({ bcm: 5, active_low: false }, hardware, clock, told)
  return { clock, heard, state, start, press: (active: boolean) => edge(active), lose: (reason: string) => lose(reason) }
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

import { test } from 'tap'
import { VirtualClock } from '../../kit/clock.ts'
import { carrying } from '../../testing/moves.ts'
import { Durations } from '../plans/durations.ts'
import type { DeviceCondition } from './equipment.ts'
import { type InjectedFault, PureEquipment } from './pure_equipment.ts'

const calm = new AbortController().signal
const arm = { seconds: { pick: 4, move: 3, place: 1 } }

function bench(faults: InjectedFault[] = [], known: { conditions?: Map<string, DeviceCondition>; durations?: Durations } = {}) {
  const clock = new VirtualClock()
  const pure = new PureEquipment({ clock, transporters: { 'arm-1': arm }, faults, ...known })
  const taken = async (work: Promise<unknown>) => {
    const began = clock.now()
    await clock.run(work)
    return (clock.now() - began) / 1000
  }
  return { clock, pure, taken }
}

test('an operation takes the seconds of its action, or else its duration', async (t) => {
  const { pure, taken } = bench()
  t.equal(await taken(pure.perform('shaker-1', 'shake', { speed: 500, duration: 60 }, { signal: calm, seconds: 7 })), 7)
  t.equal(await taken(pure.perform('shaker-1', 'shake', { speed: 500, duration: 60 }, { signal: calm })), 60)
  t.equal(await taken(pure.perform('washer-1', 'run_protocol', { protocol: 'a' }, { signal: calm })), 0)
  t.match(await pure.perform('x', 'read', {}, { signal: calm }), { success: true, message: /^x: read/ })
  t.same(await pure.perform('x', 'get_temperature', {}, { signal: calm }), { temperature: 25, target: null })
})

test('a device is initialized and heated once, as long as its driver says, or as the bench has shown', async (t) => {
  const typical = { initialize_s: 3, heating_s: 1.5 }
  const conditions = new Map<string, DeviceCondition>([
    ['cold', { initialized: false, temperature: null, typical }],
    ['warm', { initialized: true, temperature: 105, typical }],
    ['unknown', { initialized: false, temperature: null, typical: undefined }],
  ])
  const durations = new Durations()
  const { pure, taken } = bench([], { conditions, durations })
  const ready = (device: string) => taken(pure.ready(device, calm))
  const seal = (device: string, temperature: number) =>
    taken(pure.perform(device, 'seal', { temperature, duration: 3 }, { signal: calm, seconds: 10 }))
  t.same([await ready('cold'), await ready('cold'), await ready('warm'), await ready('nobody')], [3, 0, 0, 0])
  t.equal(await ready('unknown'), 30, 'as the table of operations says')
  t.same([await seal('cold', 125), await seal('cold', 125), await seal('cold', 128)], [10 + 100 * 1.5, 10, 10])
  t.same([await seal('warm', 125), await seal('warm', 50)], [10 + 20 * 1.5, 10], 'a device that has to cool down is not waited for')
  t.equal(await seal('unknown', 125), 10)
  t.equal(await taken(pure.perform('cold', 'set_temperature', { temperature: 200 }, { signal: calm, seconds: 1 })), 1)
  durations.heated('cold', { seconds: 20, degrees: 10 })
  durations.initialized('late', 7)
  t.equal(await seal('cold', 228), 10 + 100 * 2)
  const again = bench([], { conditions: new Map([['late', { initialized: false, temperature: null, typical }]]), durations })
  t.equal(await again.taken(again.pure.ready('late', calm)), 7)
})

test('a move takes the time of its transporter, and a ride twelve seconds', async (t) => {
  const { pure, taken } = bench()
  t.equal(await taken(pure.carry('arm-1', 'pick', carrying('a', calm))), 4)
  t.equal(await taken(pure.carry('arm-1', 'place', carrying('b', calm))), 4)
  t.equal(await taken(pure.carry('translator_1', 'pick', carrying('a', calm))), 5)
  t.equal(await taken(pure.carry('translator_1', 'place', carrying('b', calm))), 7)
})

test('what takes no time sets no timer', async (t) => {
  const { clock, pure } = bench()
  const work = [pure.ready('a', calm), pure.open('a', calm), pure.perform('a', 'read', {}, { signal: calm, seconds: 0 })]
  t.equal(clock.timers, 0)
  await Promise.all(work)
})

test('an abort ends every call at once, with its own reason, and leaves no timer', async (t) => {
  const { clock, pure } = bench([{ operation: 'seal', call: 1, does: 'hang' }])
  const abort = new AbortController()
  const { signal } = abort
  const reason = new Error('enough')
  const begun = [
    pure.perform('shaker-1', 'shake', {}, { signal, seconds: 60 }),
    pure.perform('sealer-1', 'seal', {}, { signal, seconds: 60 }),
    pure.carry('arm-1', 'pick', carrying('a', signal)),
  ]
  abort.abort(reason)
  const after = [pure.ready('a', signal), pure.open('a', signal), pure.carry('arm-1', 'place', carrying('b', signal))]
  for (const work of [...begun, ...after]) await t.rejects(work, reason)
  t.equal(clock.timers, 0)
})

test('the call that was told to goes wrong, and no other', async (t) => {
  const { pure, taken, clock } = bench([
    { operation: 'shake', call: 2, does: 'fail' },
    { operation: 'shake', device_id: 'shaker-2', call: 1, does: 'break off' },
    { operation: 'pick', call: 1, does: 'fail' },
  ])
  const shake = (device_id: string) => pure.perform(device_id, 'shake', {}, { signal: calm, seconds: 10 })
  t.equal(await taken(shake('shaker-1')), 10)
  const began = clock.now()
  await t.rejects(shake('shaker-1'), { code: 'device_failed', message: /shaker-1: shake failed/ })
  t.equal(clock.now(), began, 'at once')
  await t.rejects(clock.run(shake('shaker-2')), { code: 'device_failed' })
  t.equal(clock.now() - began, 5000, 'half way')
  t.equal(await taken(shake('shaker-2')), 10)
  await t.rejects(pure.carry('arm-1', 'pick', carrying('a', calm)), { code: 'device_failed' })
  t.equal(await taken(pure.carry('arm-1', 'pick', carrying('a', calm))), 4)
})

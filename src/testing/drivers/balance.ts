// For tests: a balance on its simulator, and the tests that every balance must pass.

import { test } from 'tap'
import type { Driver } from '../../../drivers/driver.ts'
import type { Simulator } from '../../../drivers/transports/simulator.ts'
import { type Hand, tampered } from '../../conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../drivers.ts'

type Balance = Bench & { put(grams: number): void; hand: Hand }

/** Connects the driver to its simulator, which has a pan, and initializes it. */
export async function balanceOn<Settings>(original: Driver<Settings>, chosen: object = {}): Promise<Balance> {
  let balance: (Simulator & { pan?: { put(grams: number): void } }) | undefined
  const { driver, hand } = tampered<Settings>({
    ...original,
    simulate: (at) => {
      balance = original.simulate(at)
      return balance
    },
  })
  const bench = await onSimulator(driver, chosen)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return { ...bench, hand, put: (grams) => balance?.pan?.put(grams) }
}

export const weigh = ({ device, run }: Bench) => run(device.weigh!({}, calm))
export const weight = ({ device, run }: Bench) => run(device.weight!())

/** `asks` is the frame that asks for the value, and `sets` are those of a tare and of a zero. */
export function balanceTests(bench: (chosen?: object) => Promise<Balance>, asks: string, sets: string[]): void {
  test('it weighs when the value is stable, and shows it before', async (t) => {
    const b = await bench({ load_g: 0 })
    t.same(await weigh(b), { weight: 0 })
    b.put(100)
    const first = await weight(b)
    t.match(first, { stable: false })
    t.ok(first.weight > 0 && first.weight < 50, `${first.weight} g`)
    const began = b.clock.now()
    const weighed = await weigh(b)
    t.ok(Math.abs(weighed.weight - 100) < 0.2, `${weighed.weight} g`)
    t.ok(b.clock.now() - began > 2000 && b.clock.now() - began < 3500)
    t.match(await weight(b), { stable: true })
    t.same([...new Set(b.written)], [asks])
  })

  test('it is tared and set to zero, each told once', async (t) => {
    const b = await bench({ load_g: 50 })
    await b.run(b.device.tare!({}, calm))
    t.equal((await weigh(b)).weight, 0)
    b.put(60)
    t.ok(Math.abs((await weigh(b)).weight - 10) < 0.01)
    b.put(2)
    await b.clock.advance(5000)
    await b.run(b.device.zero!({}, calm))
    b.put(0)
    t.ok(Math.abs((await weigh(b)).weight + 2) < 0.01)
    t.same(
      b.written.filter((frame) => frame !== asks),
      sets,
    )
  })

  test('a load that it cannot weigh, and a value that is never stable, are no faults', async (t) => {
    const b = await bench({ load_g: 300, stable_s: 10 })
    await t.rejects(weigh(b), { code: 'interlock', message: /^it is overloaded; take the load off/ })
    await t.rejects(weight(b), { code: 'interlock', message: /overloaded/ })
    await t.resolves(b.run(b.device.check()))
    b.put(-30)
    await b.clock.advance(5000)
    await t.rejects(weigh(b), { code: 'interlock', message: /^it is underloaded; see that its pan is in place/ })
    b.put(0)
    await b.clock.advance(5000)
    b.line.setFault('jam')
    const began = b.clock.now()
    await t.rejects(weigh(b), { code: 'interlock', message: /^it was not stable within 10 s; close its draft shield/ })
    t.ok(b.clock.now() - began < 11_000)
  })
}

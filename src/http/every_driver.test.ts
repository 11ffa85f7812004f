// What is on the wire of every driver of the catalogue when the whole service stands above it, simulated.

import { type Test, test } from 'tap'
import * as v from 'valibot'
import { isOnPins } from '../../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../../drivers/index.ts'
import { paramsOf, preparing, stepped } from '../conformance/trials.ts'
import type { Limit } from '../devices/device.ts'
import { operations, type Performable } from '../devices/operations.ts'
import { calm, onPins, onSimulator } from '../testing/drivers.ts'
import { openTestBench } from '../testing/http.ts'

/** How long an operation has run when somebody asks for another. */
const moments_ms = [0, 100, 1000, 5000]

type Bounds = Record<string, { min: number; max: number }>

/** A device of each driver; each takes the middle third of what its model takes. */
async function bench(t: Test, { narrow = false } = {}) {
  const devices = await Promise.all(
    driverNames.map(async (driver) => {
      const limits = narrow ? await middleOf(driver) : {}
      return { device_id: driver, driver, transport: { kind: 'simulated' }, limits }
    }),
  )
  const { bench, clock } = await openTestBench(t, { devices })
  await clock.advance(30_000)
  const on = (name: DriverName) => {
    const instrument = bench.registry.find(name)
    const known = instrument.capabilities().operations.map((operation) => operation.name as Performable)
    // An operation that is held, or goes to a teachpoint, has no parameters of its own to try; the tests of its drivers try it.
    const isTried = (name: Performable) => !('held' in operations[name] || 'goes_to' in operations[name])
    const names = known.filter((operation) => operation in operations && (operation as string) !== 'stop' && isTried(operation))
    const said = () => {
      const { frames } = instrument.wire()
      return frames.filter(({ direction }) => direction === 'to_device').map(({ hex, text }) => ({ hex, text }))
    }
    const perform = (operation: Performable, params = paramsOf(operation, instrument.capabilities())) =>
      instrument.perform(operation, params)
    const prepare = async (operation: Performable) => {
      if (operation !== 'initialize')
        for (const first of preparing(operation, (one) => names.includes(one))) await clock.run(perform(first))
    }
    return { instrument, names, said, perform, prepare, run: <T>(promise: Promise<T>) => clock.run(promise) }
  }
  return { clock, on }
}

test('at start every device is only asked: what was said does nothing with an instrument that is ready to move', async (t) => {
  const { on } = await bench(t)
  for (const name of driverNames) {
    const { instrument, said } = on(name)
    t.match(instrument.info(), { state: 'not_initialized', is_initialized: false }, name)
    t.equal(said().length > 0, await canBeAsked(name), `${name} was asked, if it can be`)
    const frames = [...new Map(said().map((frame) => [frame.hex, frame])).values()]
    if (isOnPins(await drivers[name]())) for (const { text } of frames) t.match(text, /^(read |\w+ (= 0|is [01])$)/, name)
    else for (const { hex, text } of frames) t.ok(await doesNothing(name, Buffer.from(hex, 'hex')), `${name}: ${text}`)
  }
})

test('of two operations at once only one is on the wire, whatever the second is and whenever it is asked for', async (t) => {
  const [alone, disturbed] = [await bench(t), await bench(t)]
  for (const name of driverNames) {
    const [one, other] = [alone.on(name), disturbed.on(name)]
    for (const operation of one.names) {
      for (const { prepare } of [one, other]) await prepare(operation)
      const wanted = await during(alone, one, operation, async () => {})
      const seen = await during(disturbed, other, operation, async (moment) => {
        for (const second of other.names)
          await t.rejects(other.perform(second), { code: 'busy' }, `${name}: ${second} ${moment} ms into ${operation}`)
      })
      t.same(seen, wanted, `${name}: ${operation} is on the wire as if nobody had asked for more`)
    }
  }
})

test('what is outside the range of a configuration never reaches the wire', async (t) => {
  const { on } = await bench(t, { narrow: true })
  for (const name of driverNames) {
    const { instrument, names, perform, prepare, said, run } = on(name)
    await run(perform('initialize'))
    for (const operation of names) {
      await prepare(operation)
      const { limits } = instrument.capabilities()
      const good = paramsOf(operation, { limits })
      const frames = said()
      for (const [param, limit] of Object.entries(limits)) {
        const model = await modelLimit(name, param)
        for (const value of outside(limit, model))
          for (const params of withValue(good, param, value))
            await t.rejects(perform(operation, params), { code: 'invalid' }, `${name}: ${operation}, ${param} ${value}`)
      }
      t.same(said(), frames, `${name}: nothing was said`)
    }
  }
})

type On = ReturnType<Awaited<ReturnType<typeof bench>>['on']>

/** The last that was said at each of the moments of an operation, and at its end. */
async function during(
  { clock }: { clock: Awaited<ReturnType<typeof bench>>['clock'] },
  { perform, said, run }: On,
  operation: Performable,
  meanwhile: (moment: number) => Promise<void>,
): Promise<unknown[]> {
  let ended = false
  const first = said().length
  const performing = perform(operation).finally(() => {
    ended = true
  })
  const seen: unknown[] = []
  let gone = 0
  for (const moment of moments_ms) {
    await clock.advance(moment - gone)
    gone = moment
    if (ended) break
    await meanwhile(moment)
    seen.push(since(first, said()))
  }
  const { success } = await run(performing)
  return [...seen, since(first, said()), success]
}

/** Of a log that keeps the last frames alone, what is surely new. */
function since<Frame>(first: number, frames: readonly Frame[]): readonly Frame[] {
  return first < 50 ? frames.slice(first) : frames.slice(-50)
}

/** Whether its driver asks anything before it is initialized. Some instruments speak by themselves, and some cannot be asked. */
async function canBeAsked(name: DriverName): Promise<boolean> {
  const driver = await drivers[name]()
  const { device, written, run } = isOnPins(driver) ? await onPins(driver) : await onSimulator(driver)
  await run(device.identify().catch(() => undefined))
  await run(device.check().catch(() => undefined))
  return written.length > 0
}

/** On an instrument that is initialized, and locked and closed where it can be. */
async function doesNothing(name: DriverName, bytes: Uint8Array): Promise<boolean> {
  const driver = await drivers[name]()
  if (isOnPins(driver)) return false
  const { device, line, clock, run } = await onSimulator(driver)
  await run(device.initialize({}, calm))
  for (const first of ['lock_plate', 'close'] as const) if (device[first]) await run(device[first]({}, calm))
  const look = () => JSON.stringify(Object.entries(line.simulator.world).filter(([, value]) => typeof value !== 'number'))
  const world = look()
  line.write(bytes)
  let same = true
  for (let seconds = 0; seconds < 3; seconds += 0.1) {
    await clock.advance(100)
    same &&= look() === world
  }
  line.simulator.powerOff()
  return same
}

/** The parameters with one value in the place of another: of the operation itself, and of the last record of each list. */
function withValue(good: Record<string, unknown>, param: string, value: number): Record<string, unknown>[] {
  const own = param in good ? [{ ...good, [param]: value }] : []
  const inLists = Object.entries(good).flatMap(([list, records]) => {
    const last = Array.isArray(records) ? records.at(-1) : undefined
    return last && param in last ? [{ ...good, [list]: [...(records as object[]).slice(0, -1), { ...last, [param]: value }] }] : []
  })
  return [...own, ...inLists]
}

async function modelLimit(name: DriverName, param: string): Promise<Limit> {
  return (await limitsOf(name))[param]!
}

async function limitsOf(name: DriverName): Promise<Record<string, Limit>> {
  const driver = await drivers[name]()
  return driver.profile(v.parse(driver.settings, {})).limits
}

async function middleOf(name: DriverName): Promise<Bounds> {
  const limits = Object.entries(await limitsOf(name))
  return Object.fromEntries(
    limits.map(([param, limit]) => {
      const third = (limit.max - limit.min) / 3
      return [param, { min: stepped(limit, limit.min + third), max: stepped(limit, limit.max - third) }]
    }),
  )
}

/** What the configuration forbids, though the model may take it, and what nothing takes. */
function outside(bound: Limit, model: Limit): number[] {
  const step = bound.step ?? 1
  const finer = bound.step ? [bound.min + bound.step / 2] : []
  return [bound.min - step, bound.max + step, model.min, model.max, -1, 1e9, -1e9, Number.POSITIVE_INFINITY, Number.NaN, ...finer]
}

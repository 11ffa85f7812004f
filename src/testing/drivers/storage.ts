// For tests: a storage on its simulator, and the tests that every storage with a handler and a transfer station must pass.

import { type Test, test } from 'tap'
import * as v from 'valibot'
import type { Driver } from '../../../drivers/driver.ts'
import type { Places } from '../../../drivers/transports/simulator.ts'
import { type Hand, tampered } from '../../conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../drivers.ts'

export type Storage = Bench & {
  hand: Hand
  places: Places
  /** Returns the frames that were written, without questions. */
  commands(): string[]
}

/** Connects the driver to its simulator, and initializes it. */
export async function storageOn<Settings>(
  original: Driver<Settings>,
  asks: (frame: string) => boolean,
  chosen: object = {},
): Promise<Storage> {
  const { driver, hand } = tampered(original)
  const made = await onSimulator(driver, chosen)
  await made.run(made.device.initialize({}, calm))
  made.written.length = 0
  return { ...made, hand, places: made.line.simulator.places!, commands: () => made.written.filter((frame) => !asks(frame)) }
}

/** Types lines at the instrument behind the driver's back. */
export function byHand({ line }: Bench, ...lines: string[]): void {
  for (const words of lines) line.simulator.receive(Buffer.from(`${words}\r`))
}

export function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

export async function isRefused(
  t: Test,
  b: Storage,
  operation: () => Promise<unknown>,
  message: RegExp,
  code = 'interlock',
): Promise<void> {
  b.written.length = 0
  await t.rejects(b.run(operation()), { code, message })
  t.same(b.commands(), [], 'nothing but questions is written')
}

type Trial<Settings> = {
  driver: Driver<Settings>
  bench(chosen?: object): Promise<Storage>
  /** Settings with a shaker. */
  shaker: object
  /** The lines that begin to store a plate in slot 1. */
  storing: string[]
  /** The errors of an empty slot and of one that is taken, and the frames that end an error and initialize. */
  empty: RegExp
  taken: RegExp
  initializing: string[]
  /** The first frame of a halt: during a move, and while it shakes. */
  halts: { move: string; shake: string }
}

const onHandler = /plate on its handler; open its door, take the plate out.*then initialize/

export function storageTests<Settings>(trial: Trial<Settings>): void {
  refusalTests(trial)
  motionTests(trial)
  haltTests(trial)
}

function refusalTests<Settings>({ driver, bench, storing, empty, taken, initializing }: Trial<Settings>): void {
  test('no range of its settings is empty', async (t) => {
    t.throws(() => v.parse(driver.settings, { min_temperature: 50, max_temperature: 20 }), /min_temperature has to be less/)
    t.throws(() => v.parse(driver.settings, { min_speed: 500, max_speed: 500 }), /min_speed has to be less/)
  })

  test('it moves no plate onto another one, nor one that is not there', async (t) => {
    const b = await bench()
    const { device, places } = b
    await isRefused(t, b, () => device.store!({ slot: 1 }, calm), /no plate at its transfer station; put the plate there/)
    places.put('station')
    await isRefused(t, b, () => device.retrieve!({ slot: 1 }, calm), /has a plate at its transfer station; remove/)
    const { max } = driver.profile(v.parse(driver.settings, {})).limits.slot!
    for (const slot of [0, max + 1, undefined]) await isRefused(t, b, () => device.store!({ slot }, calm), /no slot/, 'invalid')
    places.put('handler')
    for (const name of ['store', 'initialize'] as const) await isRefused(t, b, () => device[name]!({ slot: 1 }, calm), onHandler)
    places.take('handler')
    byHand(b, ...storing)
    for (const name of ['store', 'initialize'] as const) await isRefused(t, b, () => device[name]!({ slot: 1 }, calm), /busy; wait/)
  })

  test('an empty slot and a slot that is taken are errors in words, which end with an initialize', async (t) => {
    const b = await bench()
    await t.rejects(b.run(b.device.retrieve!({ slot: 3 }, calm)), { code: 'device_failed', message: empty })
    await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: empty })
    b.written.length = 0
    await b.run(b.device.initialize({}, calm))
    t.same(b.commands(), initializing)
    await t.resolves(b.run(b.device.check()))
    b.places.put('station')
    b.places.put(3)
    await t.rejects(b.run(b.device.store!({ slot: 3 }, calm)), { code: 'device_failed', message: taken })
    t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: true })
    await isRefused(t, b, () => b.device.initialize({}, calm), onHandler)
    b.places.take('handler')
    await t.resolves(b.run(b.device.initialize({}, calm)))
  })
}

function motionTests<Settings>({ bench }: Trial<Settings>): void {
  test('it is done only when the sensors show it', async (t) => {
    const b = await bench()
    b.places.put(7)
    let isDone = false
    const fetching = b.device.retrieve!({ slot: 7 }, calm).then(() => {
      isDone = true
    })
    while (!b.places.has('station')) await b.clock.advance(250)
    t.notOk(isDone, 'the plate is there, and the handler still moves')
    t.ok(b.line.simulator.world.moving)
    await b.run(fetching)
    t.notOk(b.line.simulator.world.moving)
  })

  test('a plate that its sensors show in the wrong place is a fault', async (t) => {
    const b = await bench()
    b.places.put('station')
    const storing = begin(b.device.store!({ slot: 7 }, calm))
    await b.clock.advance(10_000)
    b.places.put('station')
    await t.rejects(b.run(storing), {
      code: 'device_failed',
      message: /at rest, and its sensors show a plate at the transfer station and no plate on the handler; see where the plate is/,
    })
  })

  test('with a plate on its handler after it has found its positions, it is not initialized', async (t) => {
    const b = await bench()
    const initializing = begin(b.device.initialize({}, calm))
    await b.clock.advance(8000)
    b.places.put('handler')
    await t.rejects(b.run(initializing), { code: 'device_failed', message: /plate on its handler/ })
  })

  test('after a loss of power in the middle of a move no plate is lost', async (t) => {
    const b = await bench()
    b.places.put('station')
    const storing = begin(b.device.store!({ slot: 3 }, calm))
    await b.clock.advance(11_000)
    t.ok(b.places.has('handler'))
    b.hand.restart()
    b.line.simulator.places!.put('handler')
    await t.rejects(b.run(storing), { code: 'device_failed', message: /restarted.*where its plates are/ })
    t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: true })
    await isRefused(t, b, () => b.device.initialize({}, calm), /plate on its handler/)
  })
}

function haltTests<Settings>({ bench, shaker, halts }: Trial<Settings>): void {
  test('a halt ends no motion, and is acknowledged when the handler is at rest', async (t) => {
    const b = await bench()
    b.places.put('station')
    const storing = begin(b.device.store!({ slot: 3 }, calm))
    await b.clock.advance(11_000)
    b.written.length = 0
    const halting = b.device.halt()
    t.same(b.written, [halts.move])
    await t.rejects(storing, { code: 'stopped' })
    t.ok(b.line.simulator.world.moving)
    await b.run(halting)
    t.same([b.line.simulator.world.moving, b.places.has(3), b.commands()], [false, true, []])
    t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: false })
  })

  test('a stop of the shaker is on the wire at once', async (t) => {
    const b = await bench(shaker)
    const shaking = begin(b.device.shake!({ speed: 600, duration: 600 }, calm))
    await b.clock.advance(10_000)
    t.ok(b.line.simulator.world.moving)
    b.written.length = 0
    const halting = b.device.halt()
    t.same(b.written, [halts.shake])
    await b.run(halting)
    await t.rejects(shaking, { code: 'stopped' })
    t.notOk(b.line.simulator.world.moving)
  })
}

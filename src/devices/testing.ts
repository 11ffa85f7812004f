// One device on its simulation, on a clock that tests turn by hand. It counts as a real one: what it is doing is written down.

import type { Test } from 'tap'
import * as v from 'valibot'
import { type Driver, isOnPins, type PinsDriver } from '../../drivers/driver.ts'
import { simulatedBoard } from '../../drivers/transports/simulated_board.ts'
import { simulatedLine } from '../../drivers/transports/simulated_line.ts'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import type { Identity } from './device.ts'
import { Ledger } from './ledger.ts'
import { nothingKept } from './nothing_kept.ts'
import { Registry } from './registry.ts'
import { RunJournal } from './run_journal.ts'
import { WireLog } from './wire_log.ts'

type Options = {
  identity?: Partial<Identity>
  /** Whether the service that ended before left it on. */
  wasOn?: boolean
}

/** `d`, not started yet: `start` has it looked at. `written` is all that the host wrote. */
export async function oneDevice<Settings>(
  t: Test,
  driver: Driver<Settings> | PinsDriver<Settings>,
  { identity = {}, wasOn = false }: Options = {},
) {
  const clock = new VirtualClock()
  const ending: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const end of ending) await end()
  })
  const journal = await RunJournal.open(t.testdir({}), ({ message }) => t.fail(message))
  if (wasOn) await journal.switchedOn('d', 'shake')
  const { link, device, profile } = put(driver, clock)
  const wire = new WireLog()
  const written: string[] = []
  link.onWire((direction, bytes) => {
    wire.note(direction, bytes)
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1').trim())
  })
  const about = { device_id: 'd', type: driver.type, name: 'D', driver: 'd', simulated: false, time_scale: 1, bounds: {} }
  const configured = { ...about, identity, on_restart: 'halt' as const, driven: { device, link, profile, wire } }
  const registry = new Registry([configured], { clock, hub: { emit() {} }, ledger: new Ledger(), log: silent, ...nothingKept, journal })
  ending.push(
    () => clock.run(registry.close()),
    () => journal.close(),
  )
  const instrument = registry.find('d')
  const start = () => {
    registry.start()
    return clock.advance(1000)
  }
  const perform = (...asked: Parameters<typeof instrument.perform>) => clock.run(instrument.perform(...asked))
  /** What is written down as on, after all that was to be written before this is asked. */
  const leftOn = async () => {
    await journal.switchedOn('last', 'shake')
    return journal.on.filter((device_id) => device_id !== 'last')
  }
  return { clock, registry, instrument, link, device, leftOn, written, start, perform }
}

function put<Settings>(driver: Driver<Settings> | PinsDriver<Settings>, clock: VirtualClock) {
  const settings = v.parse(driver.settings, {})
  if (isOnPins(driver)) {
    const board = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(settings), settings, clock, wire: clock })
    return { link: board, device: driver.open({ board, clock, settings }), profile: driver.profile(settings) }
  }
  const line = simulatedLine({ simulate: driver.simulate, settings, serial: driver.serial, clock, wire: clock })
  return { link: line, device: driver.open({ line, clock, settings }), profile: driver.profile(settings) }
}

// A device on its simulator, with a virtual clock. The service takes the device for a real one, so its operations are recorded.

import * as v from 'valibot'
import { isOnPins, type LineDriver, type PinsDriver, serialOf } from '../../drivers/driver.ts'
import { opened } from '../../drivers/own_operations.ts'
import { simulatedBoard } from '../../drivers/transports/simulated_board.ts'
import { simulatedLine } from '../../drivers/transports/simulated_line.ts'
import { putPlates } from '../../drivers/transports/simulator.ts'
import type { Device, Identity, Profile } from '../devices/device.ts'
import { Ledger } from '../devices/ledger.ts'
import { noStores } from '../devices/no_stores.ts'
import type { RunStore } from '../devices/operation_journal.ts'
import { Registry } from '../devices/registry.ts'
import { WireLog } from '../devices/wire_log.ts'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import type { Test } from './assertions.ts'
import type { TriedProfile } from './trials.ts'

type Options = {
  settings?: object
  identity?: Partial<Identity>
  /** Whether the previous service left it on: by an operation, or (`stop`) because a stop was not acknowledged. */
  wasOn?: boolean | 'stop'
  on_restart?: 'halt' | 'leave'
}

/** Opens the device `d`, without its checks: `start` begins them. `written` is all that the host wrote. */
export async function oneDevice<Settings>(
  t: Test,
  driver: LineDriver<Settings> | PinsDriver<Settings>,
  { settings = {}, identity = {}, wasOn = false, on_restart = 'halt' }: Options = {},
) {
  const clock = new VirtualClock()
  const ending: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const end of ending) await end()
  })
  const on = new Map<string, string>(wasOn ? [['d', wasOn === true ? 'shake' : wasOn]] : [])
  const journal = journalOf(on)
  const { configured, link, device, profile, written } = made(driver, { settings, identity, on_restart }, clock)
  const registry = new Registry([configured], { clock, hub: { emit() {} }, ledger: new Ledger(), log: silent, ...noStores, journal })
  ending.push(() => clock.run(registry.close()))
  const instrument = registry.find('d')
  const start = () => {
    registry.start()
    return clock.advance(1000)
  }
  const perform = (...asked: Parameters<typeof instrument.perform>) => clock.run(instrument.perform(...asked))
  /** Returns the devices that are recorded as on. */
  const leftOn = () => journal.on
  /** Makes an instrument that replaces it. */
  const another = () => made(driver, { settings, identity, on_restart }, clock)
  return { clock, registry, instrument, link, device, profile, leftOn, written, start, perform, another }
}

type Choice = Required<Pick<Options, 'settings' | 'identity' | 'on_restart'>>

/** Makes the device `d` on its own simulator. */
function made<Settings>(
  driver: LineDriver<Settings> | PinsDriver<Settings>,
  { settings, identity, on_restart }: Choice,
  clock: VirtualClock,
) {
  const { link, device, profile } = put(driver, v.parse(driver.settings, settings), clock)
  const wire = new WireLog()
  const written: string[] = []
  link.onWire((direction, bytes) => {
    wire.note(direction, bytes)
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1').trim())
  })
  const playArm = (operation: string, params: Readonly<Record<string, unknown>>) => putPlates(link.simulator.places, operation, params)
  const about = { device_id: 'd', type: driver.type, name: 'D', driver: 'd', simulated: false, time_scale: 1, bounds: {} }
  const configured = { ...about, identity, on_restart, driven: { device, link, profile, wire, playArm } }
  return { configured, link, device, profile, written }
}

/** Returns a journal in memory, because virtual time cannot wait for files. */
function journalOf(operations: Map<string, string>): RunStore {
  return {
    get on() {
      return [...operations.keys()]
    },
    get haltsOwed() {
      return [...operations].filter(([, operation]) => operation === 'stop').map(([device_id]) => device_id)
    },
    leftBy: (device_id) => operations.get(device_id),
    async switchedOn(device_id, operation) {
      operations.set(device_id, operation)
    },
    async switchedOff(device_id) {
      operations.delete(device_id)
    },
  }
}

function put<Settings>(driver: LineDriver<Settings> | PinsDriver<Settings>, settings: Settings, clock: VirtualClock) {
  if (isOnPins(driver)) {
    const board = simulatedBoard({ simulate: driver.simulate, plan: driver.plan(settings), settings, clock, wire: clock })
    return withOwn(driver.profile(settings), { link: board, device: opened(driver, { board, clock, settings }) })
  }
  const line = simulatedLine({ ...driver, serial: serialOf(driver, settings), settings, clock, wire: clock })
  return withOwn(driver.profile(settings), { link: line, device: opened(driver, { line, clock, settings }) })
}

/** Adds the operations that the driver describes of its own to the profile. */
function withOwn<Made extends { device: Device }>(profile: Profile, made: Made): Made & { profile: TriedProfile } {
  return { ...made, profile: { ...profile, own: made.device.described?.operations } }
}

// Makes a bridge with its link: a program that is started here, one that listens, or a simulation.

import * as v from 'valibot'
import { checkDescription, type Description, Operations, Points, Readings, Skills } from '../../src/devices/description.ts'
import { inMemory, type KeptDescription } from '../../src/devices/descriptions.ts'
import type { AnyProfile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { described } from '../../src/kit/described.ts'
import type { Attached } from '../attach.ts'
import type { BridgeLine } from '../transports/line.ts'
import { programLine } from '../transports/program_line.ts'
import { simulatedLine } from '../transports/simulated_line.ts'
import type { Breakable } from '../transports/simulation.ts'
import { type SocketPlace, socketLine } from '../transports/socket_line.ts'
import { Bridge, type Settings, settings } from './bridge.ts'
import { simulateBridge } from './simulator.ts'

/** The duration of a pick and of a place in a simulation, s. */
const usualMove_s = 5

/** The settings of the driver `simulated`: its operations, their durations, and how often they fail. */
const simulatedSettings = v.strictObject({
  model: v.optional(described(v.pipe(v.string(), v.maxLength(128)), 'The model that the program tells'), 'simulated'),
  operations: v.optional(described(Operations, 'Its operations by name, as a bridge describes them'), {}),
  readings: v.optional(described(Readings, 'Its readings by name; `temperature` is that of the device, in °C'), {}),
  failures: v.optional(
    described(
      v.record(v.string(), v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
      'By operation, `pick` or `place`, the part of its runs that fail, from 0 to 1',
    ),
    {},
  ),
  points: v.optional(
    described(Points, 'Needed for a transporter: `taught` for teachpoints of the bench, `own` for positions by their names'),
  ),
  skills: v.optional(described(Skills, 'Skills of a transporter with `taught` points, besides going to a pose')),
  move_s: v.optional(described(v.pipe(v.number(), v.minValue(0), v.maxValue(600)), 'How long a pick or a place takes', 's'), usualMove_s),
})
type SimulatedSettings = v.InferOutput<typeof simulatedSettings>

/** The drivers with a program behind them, by their names in a configuration. */
export const bridges = { bridge: settings, simulated: simulatedSettings }
export type BridgeName = keyof typeof bridges

export type BridgePlace = { command: readonly string[] } | { socket: string } | { host: string; port: number }
/** A device as its configuration describes it. */
export type BridgeConfig = { device_id: string; type: string } & (
  | { driver: 'bridge'; transport: BridgePlace; settings: Settings }
  | { driver: 'simulated'; settings: SimulatedSettings }
)

export type AttachedBridge = Attached & { profile: AnyProfile }

/** Returns the folder in which systemd listens for each bridge; undefined if the service starts the programs itself. */
export const socketsOfSystemd = (): string | undefined => process.env.BENCHD_BRIDGES

/** Makes the device without opening its link. */
export function attachedBridge(
  { device_id, type, transport, settings }: Extract<BridgeConfig, { driver: 'bridge' }>,
  kept: KeptDescription,
  sockets = socketsOfSystemd(),
): AttachedBridge {
  return onLine(lineTo(device_id, transport, sockets), { device_id, type, settings, kept })
}

/** Makes a simulated bridge. `clock` is the instrument's time, `wire` the real time. A `bridge` is simulated by its present description, `described()`. */
export function simulatedBridge(
  device: BridgeConfig,
  { described, clock, wire }: { described: () => Description | undefined; clock: Clock; wire: Clock },
): AttachedBridge & { breakable: Breakable } {
  const { device_id, type } = device
  const fixed = device.driver === 'simulated' ? describedBy(device) : undefined
  const unknown = undescribed(type)
  const present = () => fixed ?? described()
  const { failures, move_s } = device.driver === 'simulated' ? device.settings : { failures: {}, move_s: usualMove_s }
  const program = {
    get description() {
      return present() ?? unknown
    },
    failures,
    move_s,
  }
  // The line is practically as fast as a pipe.
  const line = simulatedLine({ simulate: simulateBridge, settings: program, serial: { baud: 1e9 }, clock, wire })
  const its = device.driver === 'bridge' ? device.settings : v.parse(settings, {})
  Object.assign(line, { advice: 'see which faults of its simulation were made' })
  return { ...onLine(line, { device_id, type, settings: its, kept: following(present) }), breakable: line }
}

/** Makes a store whose description is the present one; until there is one, that which was kept. */
function following(present: () => Description | undefined): KeptDescription {
  const own = inMemory(undefined)
  return {
    get description() {
      return present() ?? own.description
    },
    keep: (description) => own.keep(description),
  }
}

/** The description of a program that has never run. */
function undescribed(type: string): Description {
  const points = type === 'transporter' ? { points: 'taught' as const } : {}
  return { protocol: 1, type, model: 'unknown', identity: null, operations: {}, readings: {}, ...points }
}

function describedBy({ type, settings }: Pick<Extract<BridgeConfig, { driver: 'simulated' }>, 'type' | 'settings'>): Description {
  const { model, operations, readings, points, skills } = settings
  return { protocol: 1, type, model, identity: null, operations, readings, ...(points && { points }), ...(skills && { skills }) }
}

/** Returns the mistake in the settings of a bridge or of a simulated one, if there is one. */
export function wrongWithSettings(driver: BridgeName, type: string, settings: unknown): string | undefined {
  if (driver === 'bridge') {
    const isKilled = type === 'transporter' && (settings as Settings).halt === 'kill'
    return isKilled
      ? 'a transporter is not halted by the end of its program, which then cannot show that it stands; use "message"'
      : undefined
  }
  try {
    checkDescription(describedBy({ type, settings: settings as SimulatedSettings }))
    return undefined
  } catch (error) {
    if (error instanceof LabError) return error.message
    throw error
  }
}

function onLine(line: BridgeLine, mount: Omit<ConstructorParameters<typeof Bridge>[0], 'line'>): AttachedBridge {
  const device = new Bridge({ ...mount, line })
  return { device, link: line, profile: device.profile }
}

function lineTo(device_id: string, transport: BridgePlace, sockets: string | undefined): BridgeLine {
  if ('command' in transport && sockets === undefined) return programLine(transport.command)
  if ('command' in transport) {
    const unit = `benchd-bridge@${device_id}`
    const advice = { lost: `see: journalctl -u ${unit}`, unreachable: `let systemd run it: sudo systemctl enable --now ${unit}.socket` }
    return socketLine({ path: `${sockets}/${device_id}.sock` }, advice)
  }
  const place: SocketPlace = 'socket' in transport ? { path: transport.socket } : { host: transport.host, port: transport.port }
  const advice = 'see that the program runs there'
  return socketLine(place, { lost: advice, unreachable: advice })
}

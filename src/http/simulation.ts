// The routes of a simulated bench: faults, and injected events.

import * as v from 'valibot'
import { lineFaults } from '../../drivers/transports/faults.ts'
import type { Simulation } from '../../drivers/transports/simulation.ts'
import { mechanicalFaults } from '../../drivers/transports/simulator.ts'
import { OperationResult } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { LabError } from '../errors.ts'
import { eventNameRule, RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import type { Load } from '../events/load.ts'
import { described } from '../kit/described.ts'
import { Id } from '../kit/name.ts'
import type { SimulatorHand } from '../workflow/equipment/equipment.ts'
import { type Call, json, type Route, routesOf } from './contract.ts'

type Rooms = { hub: Hub; load: Load; registry: Registry; simulations: ReadonlyMap<string, Simulation> }

const route = routesOf<Rooms>('simulation')

export const Fault = v.strictObject({
  fault: v.picklist([...lineFaults, 'unplug', ...mechanicalFaults]),
  after: v.optional(described(v.pipe(v.number(), v.minValue(0), v.maxValue(86_400)), 'Seconds until it happens', 's')),
})

const EmittedEvent = v.strictObject({
  event_name: eventNameRule,
  execution_id: v.optional(Id),
  context: v.optional(v.record(v.string(), v.unknown()), {}),
})

const Flow = v.strictObject({
  rate: described(v.pipe(v.number(), v.minValue(0), v.maxValue(200_000)), 'Events in a second; 0 ends the flow', '1/s'),
  seconds: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(86_400), v.metadata({ unit: 's' })), 3600),
  execution_id: v.optional(Id),
})

const faultPath = '/api/sim/devices/:device_id/faults'

export const simulationRoutes: Route<Rooms>[] = [
  route('POST', faultPath, {
    operation_id: 'setSimulatedFault',
    summary: 'Break a simulated device',
    description: 'Lasts until it is deleted. The device is latched when its driver meets the fault, at the latest two seconds later.',
    scope: 'operate',
    body: Fault,
    success: { description: 'Broken, or it will be', schema: OperationResult },
    errors: [400, 404],
    handle: (call) => broken(simulationOf(call), call),
  }),
  route('DELETE', faultPath, {
    operation_id: 'clearSimulatedFaults',
    summary: 'Mend a simulated device',
    description: 'A latched fault stays until the device is initialized.',
    scope: 'operate',
    success: { description: 'Mended', schema: OperationResult },
    errors: [404],
    handle: (call) => mended(simulationOf(call), call),
  }),
  route('POST', '/api/sim/events', {
    operation_id: 'emitSimulatedEvent',
    summary: 'Put an event through the hub, as the engine would',
    description:
      'Only where every device is simulated: to try a client of the event stream. Answered when it is in the file; or in memory, while that cannot be written and /health is degraded.',
    scope: 'operate',
    body: EmittedEvent,
    body_limit: 16_384,
    success: { status: 201, description: 'The event, once it is stored', schema: RuntimeEvent, headers: ['Location'] },
    errors: [400, 404],
    async handle({ rooms, body }) {
      mustBeSimulated(rooms)
      const { event_name, execution_id, context } = body()
      const event = rooms.hub.emit(event_name, context, execution_id)
      await rooms.hub.stored(event)
      return json(event, 201, { Location: `/events?since=${event.timestamp}&limit=1` })
    },
  }),
  route('POST', '/api/sim/load', {
    operation_id: 'setSimulatedLoad',
    summary: 'Fire events at a steady rate, from within',
    description:
      'Only where every device is simulated. Each event is SIM.load.EMITTED with a counter `n` in its context. A new flow takes the place of the one before.',
    scope: 'operate',
    body: Flow,
    success: { description: 'The events flow, or the flow has ended', schema: OperationResult },
    errors: [400, 404],
    handle({ rooms, body }) {
      mustBeSimulated(rooms)
      const flow = body()
      if (flow.rate === 0) rooms.load.stop()
      else rooms.load.start(flow)
      return json({ success: true, message: flow.rate === 0 ? 'no load' : `${flow.rate} events a second for ${flow.seconds} s` })
    },
  }),
]

/** Sets a fault. Throws `invalid` for a fault that this instrument cannot have. */
export function broken(simulator: SimulatorHand, { param, body }: Call<unknown, v.InferOutput<typeof Fault>, unknown>): Response {
  const device_id = param('device_id')
  const { fault, after = 0 } = body()
  if (!simulator.setFault(fault, after)) throw new LabError('invalid', `${device_id} cannot have the fault ${fault}`)
  return json({
    success: true,
    message: after ? `${device_id} gets the fault ${fault} in ${after} s` : `${device_id} has the fault ${fault}`,
  })
}

export function mended(simulator: SimulatorHand, { param }: Call<unknown, unknown, unknown>): Response {
  simulator.clearFaults()
  return json({ success: true, message: `${param('device_id')} is mended` })
}

function simulationOf({ rooms, param }: Pick<Call<Rooms, unknown, unknown>, 'rooms' | 'param'>) {
  const { device_id } = rooms.registry.find(param('device_id'))
  const simulation = rooms.simulations.get(device_id)
  if (simulation) return simulation
  throw new LabError('not_found', `${device_id} is not simulated; faults can be ordered from simulated devices alone`)
}

function mustBeSimulated(rooms: Rooms): void {
  if (rooms.registry.allSimulated) return
  throw new LabError('not_found', 'this bench has real devices; events can be put in by hand only where every device is simulated')
}

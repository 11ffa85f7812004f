// The routes that set and clear faults of the simulators of an open run, to rehearse a recovery.

import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { LabError } from '../errors.ts'
import type { SimulatorHand } from '../workflow/equipment/equipment.ts'
import { type Call, type Route, routesOf } from './contract.ts'
import { openOne } from './known_execution.ts'
import { broken, Fault, mended } from './simulation.ts'

type Rooms = { registry: Registry; runs: Runs }

const route = routesOf<Rooms>('simulation')

const path = '/api/sim/executions/:execution_id/devices/:device_id/faults'

export const runFaultRoutes: Route<Rooms>[] = [
  route('POST', path, {
    operation_id: 'setFaultOfRun',
    summary: 'Break a simulator of a DEVICE_SIM run',
    description:
      'To rehearse recovery: nothing on the bench is touched. The runs in DEVICE_SIM that are open at one time share their simulators. Lasts until it is deleted, or the ' +
      'last of these runs has ended. A thread that it holds is recovered with RETRY, which initializes the simulator.',
    scope: 'operate',
    body: Fault,
    success: { description: 'Broken, or it will be', schema: OperationResult },
    errors: [400, 404, 409],
    handle: (call) => broken(simulatorOfRun(call), call),
  }),
  route('DELETE', path, {
    operation_id: 'clearFaultsOfRun',
    summary: 'Mend a simulator of a DEVICE_SIM run',
    description: 'An error that its thread has met stays until somebody recovers the thread.',
    scope: 'operate',
    success: { description: 'Mended', schema: OperationResult },
    errors: [404, 409],
    handle: (call) => mended(simulatorOfRun(call), call),
  }),
]

/** Throws `not_found`, and `conflict` for an ended run, or one without its own simulators. */
function simulatorOfRun(call: Pick<Call<Rooms, unknown, unknown>, 'rooms' | 'param' | 'body'>): SimulatorHand {
  const { rooms, param } = call
  const execution = openOne(call)
  const { mode, equipment } = execution.environment
  if (mode !== 'DEVICE_SIM') {
    throw new LabError(
      'conflict',
      `run ${execution.execution_id.slice(0, 8)} is in ${mode}, and only DEVICE_SIM has simulators of its own; submit it with run_mode DEVICE_SIM`,
    )
  }
  const { device_id } = rooms.registry.find(param('device_id'))
  const simulator = equipment.simulator?.(device_id)
  if (simulator) return simulator
  throw new LabError('not_found', `${device_id} has no simulator: it has no driver here; faults can be ordered for devices with a driver`)
}

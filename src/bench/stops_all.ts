// The stop input of the bench: a contact that stops every device.

import type { thisComputer } from '../../drivers/transports/hardware.ts'
import { stopInput } from '../../drivers/transports/stop_input.ts'
import type { Config } from '../config.ts'
import type { Registry } from '../devices/registry.ts'
import type { Hub } from '../events/hub.ts'
import { type Audit, byService } from '../keys/audit.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { LateRuns } from './late_runs.ts'

export type StopInput = ReturnType<typeof stopInput>

type StopInputParts = {
  clock: Clock
  log: Log
  hub: Hub
  audit: Audit
  registry: Registry
  hardware: ReturnType<typeof thisComputer>
  runs: LateRuns
}

/** Stops every device when the stop input is active. */
export function stopsAll(place: NonNullable<Config['stop_input']>, parts: StopInputParts): StopInput {
  const { hardware, clock, log, hub, audit, registry, runs } = parts
  const pressed = () => {
    log.warn('the stop input is active: every device is stopped')
    audit.note({ ...byService, what: 'stop input', details: { text: 'The stop input asked every device to stop', device_id: '*' } })
    registry.haltAll({ by: 'stop input' }).catch((error) => log.error('the stop input', error))
    runs.addByHand({ by: 'stop input', decision: 'stop_all' })
  }
  const failed = (reason: string) => hub.incident('DEVICE_LINK', `the stop input cannot be read: ${reason}`)
  return stopInput(place, hardware, clock, { pressed, failed })
}

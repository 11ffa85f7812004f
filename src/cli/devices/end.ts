// `benchd devices end`: the gentle end of what a device does.

import { setTimeout as sleep } from 'node:timers/promises'
import type { DeviceInfo, OperationRecord } from '../../devices/records.ts'
import { ask, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { say } from '../terminal.ts'
import { overrideOption, overriding } from './operations.ts'
import { pathOf } from './perform.ts'

const again_ms = 200

export const devicesEnd = command({
  name: 'devices end',
  summary: 'End an operation early and wait until it has ended: a shaker ramps down, a centrifuge brakes, and no stop is latched',
  operands: ['ID'],
  options: { ...overrideOption, ...serviceOptions },
  example: 'benchd devices end shaker-1',
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    const { operation } = await ask<DeviceInfo>(service, 'GET', pathOf(id))
    if (!operation) return say({ success: true, message: `${id} does nothing that could be ended` }, options.json)
    const path = `/api/operations/${operation.operation_id}`
    await ask<OperationRecord>(service, 'DELETE', path, undefined, { headers: overriding(options) })
    await untilDecided(service, id, operation.operation_id)
    const { result, detail, notice } = await ask<OperationRecord>(service, 'GET', path)
    return say(result ?? { success: false, message: `${id}: ${detail ?? notice ?? 'it goes on'}` }, options.json)
  },
})

/** Resolves when the operation has ended, or goes on because the instrument did not acknowledge. */
async function untilDecided(service: Service, id: string, operation_id: string): Promise<void> {
  for (;;) {
    const { operation } = await ask<DeviceInfo>(service, 'GET', pathOf(id))
    if (operation?.operation_id !== operation_id || !operation.ending) return
    await sleep(again_ms)
  }
}

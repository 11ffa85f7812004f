// The commands that lease a device, and that clear a fault.

import { hostname, userInfo } from 'node:os'
import type { Lock } from '../../devices/records.ts'
import { tells } from '../asking.ts'
import { ask, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { secondsOf } from '../numbers.ts'
import { date, print } from '../table.ts'
import { note } from '../terminal.ts'
import { overrideOption, overriding } from './operations.ts'
import { pathOf } from './perform.ts'

type Run = { workflow_name: string; run_mode: string }

const devicesLock = command({
  name: 'devices lock',
  summary: 'Reserve a device for this key, or renew the reservation; other keys can only read and stop the device',
  operands: ['ID'],
  options: {
    note: { type: 'string', value: 'TEXT', help: 'Purpose of the reservation' },
    ttl: { type: 'string', value: 'S', help: 'Seconds until the reservation ends; default 3600' },
    owner: { type: 'string', value: 'WHO', help: 'Name that others see; default USER@HOST' },
    ...overrideOption,
    ...serviceOptions,
  },
  example: 'benchd devices lock shaker-1 --note calibration --ttl 720',
  async run({ options, operands: [id = ''] }) {
    const { note: purpose, ttl = '3600', owner = `${userInfo().username}@${hostname()}` } = options
    const wish = { owner, ...(purpose !== undefined && { note: purpose }), ttl_s: secondsOf('--ttl', ttl) }
    const service = serviceOf(options)
    const lock = await ask<Lock>(service, 'PUT', `${pathOf(id)}/lock`, wish, { headers: overriding(options) })
    print(options.json ? JSON.stringify(lock) : `${id} is kept for ${lock.owner} until ${date(lock.expires_at ?? 0)}`)
    const { executions } = await ask<{ executions: Run[] }>(service, 'GET', '/api/executions?status=IN_PROGRESS')
    const held = executions.filter(({ run_mode }) => run_mode === 'LIVE').map(({ workflow_name }) => workflow_name)
    if (held.length > 0)
      note(`open runs that need ${id} wait until then: ${held.join(', ')}; to let them go on: benchd devices unlock ${id}`)
  },
})

const devicesUnlock = tells({
  name: 'devices unlock',
  summary: 'Release a device that was reserved with devices lock',
  operands: ['ID'],
  options: overrideOption,
  tell: ({ options, operands: [id = ''] }) => ({ method: 'DELETE', path: `${pathOf(id)}/lock`, headers: overriding(options) }),
})

const devicesClearFault = tells({
  name: 'devices clear-fault',
  summary: 'Clear a latched fault that you have looked at; a latched stop stays',
  operands: ['ID'],
  options: overrideOption,
  tell: ({ options, operands: [id = ''] }) => ({ path: `${pathOf(id)}/clear_fault`, headers: overriding(options) }),
})

export const keeping = [devicesLock, devicesUnlock, devicesClearFault]

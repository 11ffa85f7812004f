// Keeping a device for oneself for a while, and clearing a fault that somebody has looked at.

import { hostname, userInfo } from 'node:os'
import type { Lock } from '../../devices/records.ts'
import { tells } from '../asking.ts'
import { ask, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { secondsOf } from '../numbers.ts'
import { date, print } from '../table.ts'
import { overrideOption, overriding } from './operations.ts'
import { pathOf } from './perform.ts'

const devicesLock = command({
  name: 'devices lock',
  summary: 'Keep a device for this key for a while, or renew that: others are refused, but for readings and a stop',
  operands: ['ID'],
  options: {
    note: { type: 'string', value: 'TEXT', help: 'The purpose' },
    ttl: { type: 'string', value: 'S', help: 'Seconds after which it ends by itself; default 3600' },
    owner: { type: 'string', value: 'WHO', help: 'The name that others see; default you, at this machine' },
    ...overrideOption,
    ...serviceOptions,
  },
  example: 'benchd devices lock shaker-1 --note calibration --ttl 720',
  async run({ options, operands: [id = ''] }) {
    const { note, ttl = '3600', owner = `${userInfo().username}@${hostname()}` } = options
    const wish = { owner, ...(note !== undefined && { note }), ttl_s: secondsOf('--ttl', ttl) }
    const lock = await ask<Lock>(serviceOf(options), 'PUT', `${pathOf(id)}/lock`, wish, { headers: overriding(options) })
    print(options.json ? JSON.stringify(lock) : `${id} is kept for ${lock.owner} until ${date(lock.expires_at ?? 0)}`)
  },
})

const devicesUnlock = tells({
  name: 'devices unlock',
  summary: 'Let anybody use a device again',
  operands: ['ID'],
  options: overrideOption,
  tell: ({ options, operands: [id = ''] }) => ({ method: 'DELETE', path: `${pathOf(id)}/lock`, headers: overriding(options) }),
})

const devicesClearFault = tells({
  name: 'devices clear-fault',
  summary: 'Clear a latched fault that you have looked at; never a stop',
  operands: ['ID'],
  options: overrideOption,
  tell: ({ options, operands: [id = ''] }) => ({ path: `${pathOf(id)}/clear_fault`, headers: overriding(options) }),
})

export const keeping = [devicesLock, devicesUnlock, devicesClearFault]

// `benchd jog`, `go-to` and `free-drive`: an arm is moved by a person at a shell. A jog and a free drive last while this command renews them.

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { heldOf } from '../../devices/operations.ts'
import type { OperationRecord } from '../../devices/records.ts'
import { ask, open, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { numberOf, secondsOf } from '../numbers.ts'
import { note, say } from '../terminal.ts'
import { overrideOption, overriding } from './operations.ts'
import { pathOf, perform } from './perform.ts'

const again_ms = 50
const usual_s = 0.5

type Holding = { device_id: string; operation: string; body: object; headers: Record<string, string>; asJson: boolean }

/** Begins a held operation, renews it until `letGo` or Ctrl-C, and ends it gently. Returns the exit code. */
async function hold(service: Service, wanted: Holding, letGo: (over: AbortSignal) => Promise<unknown>): Promise<number> {
  const { device_id, operation, body, headers, asJson } = wanted
  const over = new AbortController()
  const interrupted = () => over.abort()
  process.once('SIGINT', interrupted)
  const prefer = { ...headers, Prefer: 'respond-async' }
  const { operation_id } = await ask<OperationRecord>(service, 'POST', `${pathOf(device_id)}/${operation}`, body, { headers: prefer })
  const path = `/api/operations/${operation_id}`
  void letGo(over.signal).then(interrupted, interrupted)
  try {
    await renewed(service, path, heldOf(operation)!.renewed_within_ms / 3, over.signal)
    await ask<OperationRecord>(service, 'DELETE', path, undefined, { headers })
    return await outcome(service, path, asJson)
  } finally {
    over.abort()
    process.off('SIGINT', interrupted)
  }
}

/** Renews an operation until the signal is aborted, or the operation has ended. */
async function renewed(service: Service, path: string, every_ms: number, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    try {
      ;(await open(service, 'POST', `${path}/renew`)).resume()
    } catch (error) {
      if (error instanceof CliError && error.exit === 'busy') return
      throw error
    }
    await sleep(every_ms, undefined, { signal: over }).catch(() => undefined)
  }
}

async function outcome(service: Service, path: string, asJson: boolean): Promise<number> {
  for (;;) {
    const { device_id, status, result, detail } = await ask<OperationRecord>(service, 'GET', path)
    if (status === 'ended') return say(result ?? { success: false, message: `${device_id}: ${detail}` }, asJson)
    await sleep(again_ms)
  }
}

const jog = command({
  name: 'jog',
  summary: 'Move an arm along one axis, x+ or yaw-, for a moment; it stops gently at the end, on Ctrl-C, and if the connection breaks',
  operands: ['ID', 'AXIS'],
  options: {
    speed: { type: 'string', value: 'N', help: 'Speed in percent of the full speed of the arm, 1 to 20; default 10' },
    for: { type: 'string', value: 'S', help: `Seconds after which it ends; default ${usual_s}` },
    ...overrideOption,
    ...serviceOptions,
  },
  example: 'benchd jog arm-1 z+ --speed 5 --for 1',
  async run({ options, operands: [device_id = '', towards = ''] }) {
    const [, axis, direction] = /^(\w+)([+-])$/.exec(towards) ?? []
    if (!axis)
      throw new CliError('usage', `${towards} is no axis with a direction; write x+ or x-, and see benchd devices caps ${device_id}`)
    const seconds = options.for === undefined ? usual_s : secondsOf('--for', options.for)
    const speed = options.speed === undefined ? {} : { speed: numberOf('--speed', options.speed) }
    const wanted = { device_id, operation: 'jog', body: { axis, direction, ...speed }, headers: overriding(options) }
    const asJson = options.json ?? false
    return hold(serviceOf(options), { ...wanted, asJson }, (signal) => sleep(seconds * 1000, undefined, { signal }))
  },
})

const freeDrive = command({
  name: 'free-drive',
  summary: 'Let a person lead an arm by hand until Enter or Ctrl-C, for two minutes at most',
  operands: ['ID'],
  options: { ...overrideOption, ...serviceOptions },
  example: 'benchd free-drive arm-1',
  async run({ options, operands: [device_id = ''] }) {
    const wanted = { device_id, operation: 'free_drive', body: {}, headers: overriding(options), asJson: options.json ?? false }
    try {
      return await hold(serviceOf(options), wanted, (signal) => {
        note('lead the arm by hand; press Enter to have it hold its position')
        return Promise.race([once(process.stdin, 'data', { signal }), once(process.stdin, 'end', { signal })])
      })
    } finally {
      process.stdin.destroy()
    }
  },
})

const goTo = command({
  name: 'go-to',
  summary: 'Move an arm slowly to a teachpoint, or above it, through its gateways and its access pattern',
  operands: ['ID', 'TEACHPOINT'],
  options: {
    above: { type: 'string', value: 'MM', help: 'Distance above the teachpoint at which it stops, in mm; default 0' },
    'stop-on-interrupt': { type: 'boolean', help: 'Stop the device on Ctrl-C; by default the operation continues' },
    ...overrideOption,
    ...serviceOptions,
  },
  example: 'benchd go-to arm-1 pad_1 --above 50',
  async run({ options, operands: [device_id = '', teachpoint = ''] }) {
    const body = { teachpoint, ...(options.above !== undefined && { offset_z: numberOf('--above', options.above) }) }
    return perform(serviceOf(options), {
      ...{ device_id, operation: 'go_to', body, headers: overriding(options) },
      ...{ stops: options['stop-on-interrupt'] ?? false, asJson: options.json ?? false },
    })
  },
})

export const commands = [jog, goTo, freeDrive]

// The routes of commands to devices: one for each row of the table of operations, the stop, and leases.

import * as v from 'valibot'
import type { Instrument } from '../devices/instrument.ts'
import type { Ledger } from '../devices/ledger.ts'
import type { Caller } from '../devices/lock.ts'
import { isOptional, type OperationName, operations } from '../devices/operations.ts'
import { readings } from '../devices/reading_table.ts'
import { LeaseWish, Lock, OperationRecord, OperationResult, PerformResult, PerformWish, StopAllResult } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { LabError } from '../errors.ts'
import { inCamelCase } from '../kit/camel_case.ts'
import type { ByHand } from '../workflow/runs/by_hand.ts'
import { authorOf } from './author.ts'
import { type Exchange, json, nothing, type Route, routesOf } from './contract.ts'

type Rooms = { registry: Registry; ledger: Ledger; recordByHand(deed: ByHand): void }

const route = routesOf<Rooms>('devices')

const path = '/api/devices/:device_id'

const answersLate =
  'Answers when it has ended; a client that goes away stops nothing. With `Prefer: respond-async` answers 202 at once, and the outcome is at `Location`.'
const ended =
  'Ended; `success` is false when it was stopped: the answer to that is 200 all the same, and 409 `stopped` with `Prefer: handling=strict`'

export const deviceCommandRoutes: Route<Rooms>[] = [
  ...(Object.keys(operations) as OperationName[]).filter((name) => name !== 'stop').map(operationRoute),
  route('POST', `${path}/perform`, {
    operation_id: 'performOperation',
    summary: 'Perform any operation of a device by its name',
    description:
      'For the operations that the program behind a device describes; those of the table may be named too. `data` has the values that came of it. ' +
      answersLate,
    scope: 'operate',
    body: PerformWish,
    state_of: stateOf,
    success: { description: ended, schema: PerformResult, headers: ['Operation-Id'] },
    accepted: { description: 'The operation has begun', schema: OperationRecord },
    errors: [400, 404, 409, 423, 500, 503],
    async handle({ rooms, c, param, body }) {
      const instrument = rooms.registry.find(param('device_id'))
      const { operation, params } = body()
      if (operation === 'stop' || operation in readings) throw notPerformed(instrument.device_id, operation)
      instrument.abilities.mustKnow(operation)
      return operate({ rooms, c, instrument }, { name: operation, params: () => instrument.abilities.paramsOf(operation, params) })
    },
  }),
  route('POST', `${path}/accept`, {
    operation_id: 'acceptDescription',
    summary: 'Accept that the program behind a device describes itself otherwise than it did',
    description:
      'Such a device has a fault until somebody has seen that the program is the right one. The device is initialized afterwards.',
    scope: 'operate',
    body: v.strictObject({}),
    body_may_be_empty: true,
    success: { description: 'Accepted, or there was nothing to accept', schema: OperationResult },
    errors: [400, 404, 423],
    handle({ rooms, c, param, body }) {
      const instrument = rooms.registry.find(param('device_id'))
      body()
      const message = instrument.acceptDescription(callerOf(c))
        ? 'accepted; initialize before the next operation'
        : 'there is nothing to accept'
      return json({ success: true, message })
    },
  }),
  route('POST', `${path}/stop`, {
    operation_id: 'stopDevice',
    summary: operations.stop.summary,
    description:
      'Goes ahead of everything, whatever the state. `success` is false when the stop was sent and not acknowledged within 400 ms, and when the device was left on and no stop ends that: ' +
      '`message` says then that it may still be on. A body is not read.',
    scope: 'any',
    success: { description: 'Sent; `success` tells whether the instrument acknowledged', schema: OperationResult },
    errors: [400, 404, 500],
    async handle({ rooms, c, param }) {
      const device_id = param('device_id')
      const halted = rooms.registry.halt(device_id, authorOf(c))
      record(rooms, c, 'stop', device_id)
      return stopped(c, await halted)
    },
  }),
  route('POST', '/api/stop', {
    operation_id: 'stopAll',
    summary: 'Emergency stop of every device; latched until each is initialized. Not a safety function',
    scope: 'any',
    success: { description: 'Sent to all; `devices` tells which acknowledged', schema: StopAllResult },
    errors: [500],
    async handle({ rooms, c }) {
      const halted = rooms.registry.haltAll(authorOf(c))
      record(rooms, c, 'stop_all')
      return stopped(c, await halted)
    },
  }),
  route('POST', `${path}/clear_fault`, {
    operation_id: 'clearDeviceFault',
    summary: 'Clear a latched fault that somebody has looked at; never a stop',
    description:
      'The device must be initialized afterwards all the same. Refused as an operation is while somebody else has the device. ' +
      'A device that no stop ends counts as off from then on: `may_still_be_on` is false until it does something again.',
    scope: 'operate',
    body: v.strictObject({}),
    body_may_be_empty: true,
    state_of: stateOf,
    success: { description: 'Cleared, or there was none', schema: OperationResult },
    errors: [404, 409, 423],
    handle({ rooms, c, param, body }) {
      const instrument = rooms.registry.find(param('device_id'))
      body()
      const isCleared = instrument.clearFault(callerOf(c))
      if (isCleared) record(rooms, c, 'clear_fault', instrument.device_id)
      return json({ success: true, message: cleared(isCleared, instrument) })
    },
  }),
  route('PUT', `${path}/lock`, {
    operation_id: 'leaseDevice',
    summary: 'Lease a device: keep it for this key for a while, or renew that',
    description:
      'Requests of other keys and of executions are refused meanwhile, except readings and a stop. An operation that runs goes on. ' +
      'An execution that needs the device pauses with this reason, and goes on after a retry. The lease outlasts a restart, and ends with its key. ' +
      'On the control socket, where everybody is `local`, the header `X-Local-User` tells users apart.',
    scope: 'operate',
    body: LeaseWish,
    success: { description: 'The device is leased', schema: Lock },
    errors: [400, 404, 423, 503],
    async handle({ rooms, c, param, body }) {
      const instrument = rooms.registry.find(param('device_id'))
      return json(await instrument.lock.lease(callerOf(c), body()))
    },
  }),
  route('DELETE', `${path}/lock`, {
    operation_id: 'releaseDevice',
    summary: 'End the lease of a device',
    scope: 'operate',
    success: { description: 'Anybody may use it again, or could before', schema: OperationResult },
    errors: [404, 423, 503],
    async handle({ rooms, c, param }) {
      const had = await rooms.registry.find(param('device_id')).lock.release(callerOf(c))
      return json({ success: true, message: had ? `${param('device_id')} is not leased any more` : `${param('device_id')} was not leased` })
    },
  }),
  route('GET', '/api/operations/:operation_id', {
    operation_id: 'getOperation',
    summary: 'Get what an operation came to',
    description:
      'Kept for a day, the newest thousand, over a restart too. An operation that was under way when the service broke off has ended with `result: null`, `ended: null` and `reason: stopping`: nobody knows its outcome. Its id is in the header Operation-Id of every answer of an operation.',
    scope: 'read',
    success: { description: 'The operation', schema: OperationRecord },
    errors: [404],
    async handle({ rooms, param }) {
      const record = await operationOf(rooms, param('operation_id'))
      const data = rooms.ledger.dataOf(record)
      return json(data === undefined ? record : { ...record, data })
    },
  }),
  route('DELETE', '/api/operations/:operation_id', {
    operation_id: 'endOperation',
    summary: 'End a running operation early, in an orderly way: a shaker ramps down and goes home, a centrifuge brakes',
    description:
      'No stop, and nothing is latched: the operation ends with `ended_early: true` and `success: true`. `can_end_early` in the capabilities tells which operations can. ' +
      'An instrument that does not acknowledge goes on, and `notice` of the operation says so. Asked again while it ends, nothing more is done.',
    scope: 'operate',
    success: {
      status: 202,
      also: [200],
      description: 'The operation is being ended; 200 when it had ended already',
      schema: OperationRecord,
    },
    errors: [404, 409, 423],
    async handle({ rooms, c, param }) {
      const record = await operationOf(rooms, param('operation_id'))
      if (record.status === 'ended') return json(record)
      rooms.registry.find(record.device_id).endEarly(record.operation_id, callerOf(c))
      return json(record, 202)
    },
  }),
  route('POST', '/api/operations/:operation_id/renew', {
    operation_id: 'renewOperation',
    summary: 'Renew the hold on a running operation, such as a jog while a button is pressed',
    description:
      'An extension of ours, for operations with `renewed_within_ms` in the capabilities: without a renewal for that long, such an operation ends gently, and nothing is latched. ' +
      'Begin it with `Prefer: respond-async`, renew it with the same key a little more often, and end it with DELETE. A renewal has no line in the audit trail.',
    scope: 'operate',
    is_unrecorded: true,
    success: { status: 204, description: 'Renewed' },
    errors: [404, 409, 423],
    async handle({ rooms, c, param }) {
      const operation_id = param('operation_id')
      const { device_id } = rooms.ledger.get(operation_id) ?? (await operationOf(rooms, operation_id))
      rooms.registry.find(device_id).renew(operation_id, callerOf(c))
      return nothing()
    },
  }),
]

/** Adds a decision of the caller to the records of the open runs that it concerns. Never throws. */
function record({ recordByHand }: Rooms, c: Exchange, decision: ByHand['decision'], device_id?: string): void {
  recordByHand({ ...authorOf(c), decision, device_id })
}

function cleared(isCleared: boolean, { condition }: Instrument): string {
  if (!isCleared) return 'there was no fault'
  return condition.isInitialized ? 'it counts as off from now on' : 'fault cleared; initialize before the next operation'
}

async function operationOf({ ledger }: Pick<Rooms, 'ledger'>, operation_id: string): Promise<OperationRecord> {
  const record = await ledger.find(operation_id)
  if (record) return record
  const sentence = `there is no operation ${JSON.stringify(operation_id)}; the newest thousand of a day are kept`
  throw new LabError('not_found', sentence)
}

function operationRoute(name: OperationName): Route<Rooms> {
  const { summary, params, ...more } = operations[name]
  const extension = 'extension' in more ? 'An extension of ours. ' : ''
  const held =
    'held' in more
      ? `Ends gently after ${more.held.renewed_within_ms} ms without \`POST /api/operations/{operation_id}/renew\`, after ${more.held.longest_s} s, or by \`DELETE /api/operations/{operation_id}\`. `
      : ''
  return route('POST', `${path}/${name}`, {
    operation_id: operationId(name),
    summary,
    description: extension + held + answersLate,
    scope: 'operate',
    body: params as v.GenericSchema<unknown, Record<string, unknown>>,
    body_may_be_empty: Object.values<v.GenericSchema>(params.entries).every(isOptional),
    success: {
      description: ended,
      schema: OperationResult,
      headers: ['Operation-Id'],
    },
    accepted: { description: 'The operation has begun', schema: OperationRecord },
    state_of: stateOf,
    errors: [400, 404, 409, 423, 500, 503],
    async handle({ rooms, c, param, body }) {
      const instrument = rooms.registry.find(param('device_id'))
      instrument.abilities.mustKnow(name)
      const isOwn = instrument.abilities.own.has(name)
      return operate(
        { rooms, c, instrument },
        { name, params: () => (isOwn ? instrument.abilities.paramsOf(name, body()) : body()), isPlain: true },
      )
    },
  })
}

function notPerformed(device_id: string, name: string): LabError {
  const path = `/api/devices/${device_id}/${name}`
  return new LabError('invalid', `${name} is no operation that is performed; ask ${name === 'stop' ? 'POST' : 'GET'} ${path}`)
}

/** `isPlain`: the answer has the form of the published API, without values. */
type OperationRequest = { name: string; params(): Record<string, unknown>; isPlain?: boolean }

type Operated = { rooms: Rooms; c: Exchange; instrument: Instrument }

/** Returns the state, for a latched stop with the time of the last stop. */
function stateOf({ registry }: Pick<Rooms, 'registry'>, param: (name: string) => string): string | undefined {
  const instrument = registry.all().find(({ device_id }) => device_id === param('device_id'))
  if (!instrument) return undefined
  const { state, condition } = instrument
  const { stop } = condition.latch
  return stop ? `${state} ${(stop.again ?? stop).at}` : state
}

async function operate({ rooms, c, instrument }: Operated, { name, params, isPlain = false }: OperationRequest): Promise<Response> {
  let begun: OperationRecord | undefined
  const by = callerOf(c)
  const onBegun = (its: OperationRecord) => {
    begun = its
    c.set('operation_id', its.operation_id)
  }
  const done = instrument.perform(name, params(), { by, begun: onBegun })
  if (begun && name === 'initialize') record(rooms, c, name, instrument.device_id)
  const its: Record<string, string> = begun ? { 'Operation-Id': begun.operation_id } : {}
  const preferred = preferencesIn(c.req.header('prefer'))
  if (begun && preferred.includes('respond-async')) {
    // The client reads the outcome from the operation.
    done.catch(() => undefined)
    return json(begun, 202, { ...its, Location: `/api/operations/${begun.operation_id}`, 'Preference-Applied': 'respond-async' })
  }
  const { success, message, data } = await done
  if (!success) c.set('has_failed', true)
  if (!success && preferred.includes('handling=strict'))
    throw new LabError(
      'stopped',
      `${name} of ${instrument.device_id} has not ended well: ${message}; initialize the device before it goes on`,
    )
  return json({ success, message, ...(!isPlain && data !== undefined && { data }) }, 200, its)
}

/** Answers a stop. The audit trail says if it was not confirmed. */
function stopped(c: Exchange, outcome: { success: boolean }): Response {
  if (!outcome.success) c.set('has_failed', 'was sent and is not confirmed')
  return json(outcome)
}

/** Returns the caller. On the control socket all are `local`, distinguished by the user name that they send. */
function callerOf(c: Exchange): Caller {
  const { key_id, scope } = c.get('principal')
  const user = c.env?.local ? c.req.header('x-local-user')?.slice(0, 64) : undefined
  return {
    key_id: user ? `${key_id} ${user}` : key_id,
    operator: c.get('operator'),
    override: scope === 'admin' && c.req.header('x-override')?.toLowerCase() === 'true',
  }
}

/** Parses the preferences of RFC 7240. */
function preferencesIn(header = ''): string[] {
  return header.split(',').map((preference) => preference.trim().toLowerCase().replaceAll(/[\s"]/g, ''))
}

/** Makes the operation id of a row for generated clients, with the verb first. */
function operationId(name: string): string {
  const [verb = name, ...rest] = name.split('_')
  return `${verb}${rest.length ? inCamelCase(rest.join('_')) : 'Device'}`
}

// The route of the operations that devices did, by hand or in runs.

import * as v from 'valibot'
import type { Ledger } from '../devices/ledger.ts'
import { operationText } from '../devices/operation_words.ts'
import { OperationRecord } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import type { Keys } from '../keys/keys.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'
import { local } from './entrance.ts'
import { Limit } from './numeral.ts'
import { Before, isWithin, mustBeSpan, Next, pageOf, spanOf } from './time_span.ts'

type Rooms = { registry: Registry; ledger: Ledger; keys: Keys }

const route = routesOf<Rooms>('devices')

const Usage = v.strictObject({
  device_id: v.string(),
  operation: v.string(),
  times: described(v.number(), 'How often it was begun'),
  params: described(v.record(v.string(), v.unknown()), 'Its parameters the last time'),
})

export const operationRoutes: Route<Rooms>[] = [
  route('GET', '/api/operations', {
    operation_id: 'listOperations',
    summary: 'List what the devices did, by hand or in runs',
    description:
      'Kept for a day, the newest thousand, over a restart too. Operations on simulators of runs in DEVICE_SIM are not among them. Older ones are in the record of their ' +
      'execution, and requests of people in the audit trail.',
    scope: 'read',
    query: v.object({
      device_id: v.optional(described(v.string(), 'Only operations of this device')),
      ...spanOf('Only operations that began'),
      limit: Limit,
      before: Before,
    }),
    success: {
      description: 'The newest first',
      schema: v.strictObject({
        operations: v.array(
          v.strictObject({
            ...OperationRecord.entries,
            text: described(v.string(), 'The operation and its outcome, in a sentence'),
            by_name: described(
              v.nullable(v.string()),
              'The name of the key that asked for it, local for a command on the computer of the bench; null for an operation of an execution, or if the key is gone',
            ),
          }),
        ),
        next: Next,
      }),
    },
    errors: [400, 404],
    async handle({ rooms, query }) {
      const { device_id, since, until, limit, before } = query()
      mustBeSpan({ since, until })
      if (device_id !== undefined) rooms.registry.find(device_id)
      const { items, next } = pageOf((await rooms.ledger.all()).reverse(), {
        limit,
        before,
        idOf: ({ operation_id }) => operation_id,
        matches: (record) => (device_id === undefined || record.device_id === device_id) && isWithin(record.started, { since, until }),
      })
      const names = new Map([local, ...rooms.keys.list()].map(({ key_id, name }) => [key_id, name]))
      const words = (record: OperationRecord) => ({ text: operationText(record), by_name: names.get(record.by ?? '') ?? null })
      return json({ operations: items.map((record) => ({ ...record, ...words(record) })), next })
    },
  }),
  route('GET', '/api/usage', {
    operation_id: 'getUsage',
    summary: 'Count the operations of each device in the last day, with their last parameters',
    description: 'By hand or in runs, of the newest thousand: for forms that begin with the values that were used last.',
    scope: 'read',
    success: { description: 'An entry for each operation of each device that did one', schema: v.strictObject({ usage: v.array(Usage) }) },
    async handle({ rooms }) {
      const usage = new Map<string, v.InferOutput<typeof Usage>>()
      for (const { device_id, operation, params } of await rooms.ledger.all()) {
        const key = JSON.stringify([device_id, operation])
        usage.set(key, { device_id, operation, times: (usage.get(key)?.times ?? 0) + 1, params })
      }
      return json({ usage: [...usage.values()] })
    },
  }),
]

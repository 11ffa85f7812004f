// The routes of the webhooks: the state of their deliveries, and a test message.

import * as v from 'valibot'
import { notifyKinds } from '../config/notify.ts'
import { described } from '../kit/described.ts'
import type { Notifier } from '../notify/notifier.ts'
import { json, routesOf } from './contract.ts'

const route = routesOf<{ notifier: Notifier }>('system')

const Host = described(v.string(), 'The host of its address; a path may hold a secret, and is never shown')
const Failure = described(v.nullable(v.string()), 'Why the last message was not taken; null if it was')

const Receiver = v.strictObject({
  host: Host,
  on: v.array(v.picklist(notifyKinds)),
  format: v.string(),
  waiting: described(v.number(), 'Messages that were not taken yet'),
  delivered_at: described(v.nullable(v.number()), 'Unix time of the last one that was taken since the start', 's'),
  failure: Failure,
})

export const notifyRoutes = [
  route('GET', '/api/system/notify', {
    operation_id: 'listNotifyReceivers',
    summary: 'List the webhooks of the configuration, and how delivery to each goes',
    scope: 'read',
    success: {
      description: 'In the order of the configuration; `dropped` counts messages that were left out because 1,000 waited',
      schema: v.strictObject({ receivers: v.array(Receiver), dropped: v.number() }),
    },
    handle: ({ rooms: { notifier } }) => json({ receivers: notifier.status(), dropped: notifier.dropped }),
  }),
  route('POST', '/api/system/notify/test', {
    operation_id: 'testNotify',
    summary: 'Send a test message to each webhook of the configuration',
    scope: 'admin',
    success: {
      description: 'The outcome for each receiver; answered after ten seconds at most',
      schema: v.strictObject({ receivers: v.array(v.strictObject({ host: Host, failure: Failure })) }),
    },
    errors: [409],
    handle: async ({ rooms: { notifier } }) => json({ receivers: await notifier.test() }),
  }),
]

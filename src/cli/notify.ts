// `benchd notify …`: the webhooks that are called when somebody is needed.

import type { ReceiverStatus } from '../notify/notifier.ts'
import { shows } from './asking.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { print, table } from './table.ts'
import { noteNone } from './terminal.ts'

const notifyList = shows({
  name: 'notify list',
  summary: 'List the webhooks that are called when a person is needed, with the state of their deliveries',
  path: () => '/api/system/notify',
  text: ({ receivers }: { receivers: ReceiverStatus[] }) =>
    table(
      ['HOST', 'FORMAT', 'WAITING', 'LAST', 'ON'],
      receivers.map(({ host, format, waiting, delivered_at, failure, on }) => [
        host,
        format,
        String(waiting),
        failure ?? (delivered_at === null ? '-' : 'delivered'),
        on.join(' '),
      ]),
    ),
  also: ({ receivers }) => noteNone(receivers, 'the configuration names no receiver; add one to "notify", then: benchd config reload'),
})

const notifyTest = command({
  name: 'notify test',
  summary: 'Send a test message to each webhook; exit with 0 if all accepted it',
  options: serviceOptions,
  async run({ options }) {
    type Tested = { receivers: { host: string; failure: string | null }[] }
    const tested = await ask<Tested>(serviceOf(options), 'POST', '/api/system/notify/test')
    const { receivers } = tested
    print(options.json ? JSON.stringify(tested) : receivers.map(({ host, failure }) => `${host} ${failure ?? 'took it'}`).join('\n'))
    return receivers.some(({ failure }) => failure !== null) ? 1 : 0
  },
})

export const commands = [notifyList, notifyTest]

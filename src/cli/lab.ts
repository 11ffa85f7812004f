// `benchd lab …`: many benches and the broker that connects them.

import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { print } from './table.ts'
import { mustBeSure, yesOption } from './terminal.ts'

const labNewEpoch = command({
  name: 'lab new-epoch',
  summary: 'Go on under the name of this bench, although another box has sent events under it',
  operands: [],
  options: { ...yesOption, ...serviceOptions },
  async run({ options }) {
    await mustBeSure(options, 'let this bench go on under its name; the other box with that name then sends nothing more')
    const answer = await ask<{ link: { name: string; epoch: string } }>(serviceOf(options), 'POST', '/api/lab/epoch')
    print(options.json ? JSON.stringify(answer) : `${answer.link.name} goes on in the new epoch ${answer.link.epoch}`)
    return 0
  },
})

export const commands = [labNewEpoch]

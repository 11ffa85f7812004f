// `benchd run-bridge`: runs the program of a bridge. Only systemd calls it, in the unit `benchd-bridge@.service`.

import { command } from './command.ts'
import { CliError } from './exit.ts'
import { print } from './table.ts'

const word = 'run-bridge'

export const commands = [
  command({
    name: word,
    summary: 'Run the program of a bridge while the service is connected: called by systemd',
    operands: ['DEVICE'],
    options: { 'tell-command': { type: 'boolean', help: 'Only print its command, from the configuration on standard input' } },
    async run({ options, operands: [device_id = ''] }) {
      const { commandFromInput, commandInInput, supervise } = await import('../../drivers/transports/supervisor.ts')
      if (options['tell-command']) {
        print(JSON.stringify(commandInInput(device_id)))
        return 0
      }
      if (process.env.LISTEN_FDS !== '1') throw new CliError('usage', `benchd ${word} is called by systemd, in benchd-bridge@${device_id}`)
      await supervise(() => commandFromInput([process.execPath, process.argv[1] ?? '', word, device_id, '--tell-command']))
      // systemd kills the child processes of the program with the control group.
      process.exit(0)
    },
  }),
]

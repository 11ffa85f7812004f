// `benchd logs`: the log of the service from systemd's journal.

import { resolve } from 'node:path'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { journalOf } from './journal.ts'
import { localTime } from './local_time.ts'
import { systemData } from './places.ts'
import { print } from './table.ts'
import { colored, note } from './terminal.ts'

const logs = command({
  name: 'logs',
  summary: 'Print the log of the service from the journal of systemd',
  options: {
    follow: { type: 'boolean', short: 'f', help: 'Continue with new lines until Ctrl-C' },
    lines: { type: 'string', value: 'N', help: 'Number of the newest lines; default 200' },
    errors: { type: 'boolean', help: 'Print only errors' },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      help: `Data folder of the service; only the service on ${systemData} has a log in the journal`,
    },
  },
  example: 'benchd logs -f',
  async run({ options }) {
    const { follow, errors, lines = '200' } = options
    if (!/^\d{1,7}$/.test(lines)) throw new CliError('usage', `--lines ${lines} is not a number of lines`)
    const folder = options['data-dir']
    if (folder !== undefined && resolve(folder) !== systemData) {
      const sentence = `the journal of systemd has the log of the service on ${systemData} only; a service on ${folder} prints its log where it was started`
      throw new CliError('not_found', `${sentence}: see that terminal, or the file that it was sent to`)
    }
    let count = 0
    for await (const entry of journalOf({ lines: Number(lines), errors, follow })) {
      count++
      const { at, level, message } = entry
      const word = level <= 3 ? colored('red', 'error') : level === 4 ? colored('yellow', 'warn ') : 'info '
      print(options.json ? JSON.stringify(entry) : `${localTime(at, 'milliseconds')} ${word} ${message}`)
    }
    if (count > 0 || follow || Number(lines) === 0) return
    if (!errors)
      throw new CliError('not_found', 'the journal has no entry of benchd; to see if systemd runs it here: systemctl status benchd')
    note('the journal has no error of benchd')
  },
})

export const commands = [logs]

// `benchd completion`: the completion script for a shell.

import { readShipped } from '../../kit/shipped.ts'
import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { shells } from './shells.ts'

const completion = command({
  name: 'completion',
  summary: 'Print the completion script for bash, zsh or fish',
  operands: ['SHELL'],
  no_json: 'its output is for a shell',
  example: 'source <(benchd completion bash)',
  async run({ operands: [shell = ''] }) {
    if (!shells.includes(shell)) throw new CliError('usage', `there is nothing for ${shell}; there is: ${shells.join(', ')}`)
    process.stdout.write(await readShipped(new URL(`./benchd.${shell}`, import.meta.url)))
  },
})

export const commands = [completion]

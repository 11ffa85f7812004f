// `benchd completion`: what a shell needs to finish words, from the table of commands.

import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { bash } from './bash.ts'
import { fish } from './fish.ts'
import { type Tree, tree } from './tree.ts'
import { zsh } from './zsh.ts'

const completion = command({
  name: 'completion',
  summary: 'Print what bash, zsh or fish needs to complete the words of benchd',
  operands: ['SHELL'],
  options: {},
  no_json: 'what it prints is for a shell',
  example: 'source <(benchd completion bash)',
  async run({ operands: [shell = ''], table }) {
    const write = scripts[shell]
    if (!write) throw new CliError('usage', `there is nothing for ${shell}; there is: ${Object.keys(scripts).join(', ')}`)
    const [{ driverNames }, { decisions }] = await Promise.all([
      import('../../../drivers/index.ts'),
      import('../../workflow/threads/recovery.ts'),
    ])
    const known = { DRIVER: [...driverNames, 'external'], DECISION: decisions, SHELL: Object.keys(scripts) }
    const commands = (await table()).flatMap(({ commands }) => commands)
    process.stdout.write(write(tree(commands, known)))
    return 0
  },
})

export const commands = [completion]

const scripts: Record<string, (tree: Tree) => string> = { bash, zsh, fish }

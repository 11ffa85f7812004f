// `benchd config …`: the configuration file.

import { command } from './command.ts'
import { configPath } from './places.ts'

const check = command({
  name: 'config check',
  summary: 'Check a configuration, and say what is wrong with it',
  operands: ['[FILE]'],
  options: { config: { type: 'string', value: 'FILE', help: 'The same as FILE' } },
  example: 'benchd config check ./config.json',
  async run({ options, operands: [file] }) {
    const { readConfig, readTls } = await import('../config.ts')
    const path = configPath(file ?? options.config)
    const { devices, listen } = await readConfig(path)
    const certificate = listen.tls && (await readTls(listen.tls))
    process.stdout.write(`${path} is good: ${devices.length} devices\n`)
    if (certificate) process.stdout.write(`TLS certificate until ${certificate.valid_to}, SHA-256 ${certificate.fingerprint}\n`)
    return 0
  },
})

export const commands = [check]

// `benchd config …`: the configuration file, and what comes of it.

import { command } from './command.ts'
import { type Setting, settingsOf } from './config_values.ts'
import { configPath } from './places.ts'
import { listenOptions } from './serve.ts'
import { print, table } from './table.ts'

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
    const { valid_to, fingerprint } = (listen.tls && (await readTls(listen.tls))) ?? {}
    const certificate = valid_to === undefined ? null : { valid_to, fingerprint }
    if (options.json) print(JSON.stringify({ path, devices: devices.map(({ device_id }) => device_id), certificate }))
    else {
      print(`${path} is good: ${devices.length} devices`)
      if (certificate) print(`TLS certificate until ${valid_to}, SHA-256 ${fingerprint}`)
    }
    return 0
  },
})

const show = command({
  name: 'config show',
  summary: 'Show what the configuration says, and where each value comes from: flag, environment or file',
  operands: ['[FILE]'],
  options: {
    config: { type: 'string', value: 'FILE', help: 'The same as FILE' },
    effective: { type: 'boolean', help: 'Also what nobody said: the defaults' },
    ...listenOptions,
  },
  example: 'benchd config show --effective',
  async run({ options, operands: [file] }) {
    const settings = await settingsOf({ ...options, config: file ?? options.config })
    const shown = options.effective ? settings : settings.filter(({ from }) => from !== 'default')
    print(options.json ? JSON.stringify({ settings: shown }) : table(['SETTING', 'VALUE', 'FROM'], shown.map(row)))
    return 0
  },
})

export const commands = [check, show]

function row({ name, value, from, by }: Setting): string[] {
  return [name, typeof value === 'string' ? value : JSON.stringify(value), by ? `${from} ${by}` : from]
}

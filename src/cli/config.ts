// `benchd config …`: the configuration file and its values.

import { serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { configSet } from './config_set.ts'
import { type Setting, settingsOf } from './config_values.ts'
import { configPath } from './places.ts'
import { reload, todo } from './reload.ts'
import { listenOptions } from './serve.ts'
import { print, table } from './table.ts'
import { tellFaults } from './workflows.ts'

const check = command({
  name: 'config check',
  summary: 'Check a configuration and list its mistakes',
  operands: ['[FILE]'],
  options: { config: { type: 'string', value: 'FILE', help: 'Configuration file, as FILE' } },
  example: 'benchd config check ./config.json',
  async run({ options, operands: [file] }) {
    const { readConfig } = await import('../config.ts')
    const { readTls } = await import('../config/tls.ts')
    const { boxWords } = await import('../../drivers/transports/tcp_line.ts')
    const { isOnPins, serialOf } = await import('../../drivers/driver.ts')
    const path = configPath(file ?? options.config)
    const { devices, listen } = await readConfig(path)
    const { valid_to, fingerprint } = (listen.tls && (await readTls(listen.tls))) ?? {}
    const certificate = valid_to === undefined ? null : { valid_to, fingerprint }
    const boxes = devices.flatMap((device) => {
      if (device.kind !== 'driven' || device.transport.kind !== 'tcp' || isOnPins(device.driven_by)) return []
      const serial = serialOf(device.driven_by, device.settings)
      return serial ? [{ device_id: device.device_id, must_have: boxWords(device.transport, serial) }] : []
    })
    const unusable = devices.flatMap((device) => (device.kind === 'unloaded' ? [{ device_id: device.device_id, problem: device.why }] : []))
    if (options.json) print(JSON.stringify({ path, devices: devices.map(({ device_id }) => device_id), certificate, boxes, unusable }))
    else {
      print(`${path} is good: ${devices.length} devices`)
      for (const { device_id, problem } of unusable) print(`${device_id} cannot be used: ${problem}`)
      for (const { device_id, must_have } of boxes) print(`${device_id}: ${must_have}`)
      if (certificate) print(`TLS certificate until ${valid_to}, SHA-256 ${fingerprint}`)
    }
  },
})

const show = command({
  name: 'config show',
  summary: 'Show the configuration, and the origin of each value: flag, environment or file',
  operands: ['[FILE]'],
  options: {
    config: { type: 'string', value: 'FILE', help: 'Configuration file, as FILE' },
    effective: { type: 'boolean', help: 'Show also the defaults' },
    ...listenOptions,
  },
  example: 'benchd config show --effective',
  async run({ options, operands: [file] }) {
    const settings = await settingsOf({ ...options, config: file ?? options.config })
    const shown = options.effective ? settings : settings.filter(({ from }) => from !== 'default')
    print(options.json ? JSON.stringify({ settings: shown }) : table(['SETTING', 'VALUE', 'FROM'], shown.map(row)))
  },
})

const again = command({
  name: 'config reload',
  summary: 'Reload the configuration and the topologies, and name each change that needs a restart',
  options: serviceOptions,
  example: 'benchd config check && benchd config reload',
  async run({ options }) {
    const answer = await reload(serviceOf(options))
    const rest = todo(answer)
    print(options.json ? JSON.stringify(answer) : [answer.message, ...(rest ? [rest] : [])].join('\n'))
    tellFaults(answer.faults)
  },
})

export const commands = [check, show, configSet, again]

function row({ name, value, from, by }: Setting): string[] {
  return [name, typeof value === 'string' ? value : JSON.stringify(value), by ? `${from} ${by}` : from]
}

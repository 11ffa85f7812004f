// `benchd config set`: changes one value of the configuration file, and keeps the rest with its comments.

import { readText } from '../kit/files.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import { command } from './command.ts'
import { again, checked, literal, withDeep, written } from './config_file.ts'
import { CliError } from './exit.ts'
import { serviceOn } from './local_service.ts'
import { configPath, dataDir } from './places.ts'
import { print } from './table.ts'

export const configSet = command({
  name: 'config set',
  summary: 'Change one value of the configuration, named by its path in config show; VALUE is JSON or plain text',
  operands: ['PATH', 'VALUE'],
  options: {
    config: { type: 'string', value: 'FILE', help: 'Configuration; default /etc/benchd/config.json' },
    'data-dir': { type: 'string', value: 'DIR', help: 'Data folder of the service that loads the change' },
  },
  example: 'sudo benchd config set devices.shaker-1.limits.speed.max 1500',
  run: again(async ({ options, operands: [name = '', value = ''] }) => {
    const path = configPath(options.config)
    const before = await readText(path)
    const text = withDeep(before, placeOf(name, before, path), literal(value))
    await checked(text, path)
    if (text === before) {
      print(
        options.json
          ? JSON.stringify({ config: path, old_copy: null, restart_needed: false, reload_refused: false })
          : `${path} says so already`,
      )
      return 0
    }
    const service = await serviceOn(dataDir(options['data-dir']))
    const { words, ...rest } = await written({ path, text, before, service })
    if (options.json) print(JSON.stringify({ config: path, ...rest, message: words }))
    else print([`wrote ${path} (old copy: ${rest.old_copy})`, words].join('\n'))
    return 0
  }),
})

/** Converts a name to a path of the file: a device is named by its id, and stored by its index. */
function placeOf(name: string, text: string, file: string): (string | number)[] {
  const [first = '', id, ...rest] = name.split('.')
  if (first !== 'devices' || id === undefined) return name.split('.')
  const { devices = [] } = parseJsonWithComments(text, file) as { devices?: { device_id?: unknown }[] }
  const place = devices.findIndex(({ device_id }) => device_id === id)
  if (place < 0) throw new CliError('not_found', `${file} has no device ${id}; to add one: benchd devices add`)
  if (rest.length === 0) throw new CliError('usage', `say what of ${id}: devices.${id}.name as an example`)
  return ['devices', place, ...rest]
}

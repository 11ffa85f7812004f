// The values of the configuration as `serve` would use them, and the source of each: flag, environment, file or default.

import { readText } from '../kit/files.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import { configPath, dataDir, topologiesDir } from './places.ts'

export type Setting = {
  /** For example `listen.port` or `devices.shaker-1.settings.model`. */
  name: string
  value: unknown
  from: 'flag' | 'environment' | 'file' | 'default'
  /** The flag or the variable. */
  by?: string
}

type Flags = {
  config?: string | undefined
  host?: string | undefined
  port?: string | undefined
  'data-dir'?: string | undefined
  topologies?: string | undefined
}

/** Lists the values in the order of the schema. Throws as `serve` does for a configuration with mistakes. */
export async function settingsOf(flags: Flags): Promise<Setting[]> {
  const { readConfig } = await import('../config.ts')
  const path = configPath(flags.config)
  const { devices, ...config } = await readConfig(path)
  const written = parseJsonWithComments(await readText(path), path) as { devices?: { device_id: string }[] }
  const shown = { ...config, devices: byId(devices.map(({ ...device }) => ({ ...device, driven_by: undefined, kind: undefined }))) }
  const inFile = { ...written, devices: byId(written.devices ?? []) }
  const port = flags.port ?? process.env.BENCHD_PORT
  const said = {
    config: origin('config', flags.config, 'BENCHD_CONFIG', path),
    data_dir: origin(
      'data-dir',
      flags['data-dir'],
      process.env.BENCHD_DATA_DIR ? 'BENCHD_DATA_DIR' : 'STATE_DIRECTORY',
      dataDir(flags['data-dir']),
    ),
    topologies: origin('topologies', flags.topologies, 'BENCHD_TOPOLOGIES', topologiesDir(flags.topologies, path)),
  }
  const over: Record<string, Omit<Setting, 'name'>> = {
    'listen.host': origin('host', flags.host, 'BENCHD_HOST', flags.host ?? process.env.BENCHD_HOST),
    'listen.port': origin('port', flags.port, 'BENCHD_PORT', port === undefined ? undefined : Number(port)),
  }
  const there = new Set(leaves(inFile).map(({ name }) => name))
  const values = leaves(shown).map(({ name, value }): Setting => {
    const spoken = over[name]
    if (spoken && spoken.from !== 'default') return { name, ...spoken }
    return { name, value, from: [...there].some((known) => known === name || known.startsWith(`${name}.`)) ? 'file' : 'default' }
  })
  return [...Object.entries(said).map(([name, its]) => ({ name, ...its })), ...values]
}

function origin(flag: string, given: string | undefined, variable: string, value: unknown): Omit<Setting, 'name'> {
  if (given !== undefined) return { value, from: 'flag', by: `--${flag}` }
  return process.env[variable] ? { value, from: 'environment', by: variable } : { value, from: 'default' }
}

/** Names each device by its id instead of its index. */
function byId(devices: readonly { device_id: string }[]): Record<string, object> {
  return Object.fromEntries(devices.map(({ device_id, ...its }) => [device_id, its]))
}

type Leaf = { name: string; value: unknown }

/** Lists the values of an object by their paths. A leaf is a non-object or an empty object; undefined is skipped. */
function leaves(value: unknown, name = ''): Leaf[] {
  if (value === undefined) return []
  const isBranch = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  if (!isBranch) return [{ name, value }]
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, name ? `${name}.${key}` : key))
}

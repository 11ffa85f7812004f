// Where the configuration and the data are: flag, environment, then what this machine suggests.

import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { exists } from '../kit/folder.ts'
import { CliError } from './exit.ts'

/** The place where the configuration of the system's own service is; systemd names another folder in the variable. */
export const systemFolder = process.env.CONFIGURATION_DIRECTORY || '/etc/benchd'
const systemConfig = join(systemFolder, 'config.json')
export const systemData = '/var/lib/benchd'
/** The place where systemd listens for the programs of bridges. */
export const bridgeSockets = '/run/benchd-bridges'

/** The path of the configuration. Throws when none was named and none is there. */
export function configPath(flag: string | undefined): string {
  const named = flag ?? process.env.BENCHD_CONFIG
  if (named) return resolve(named)
  const userConfig = join(userFolder(), 'config.json')
  const found = [systemConfig, userConfig].find(exists)
  if (found) return found
  throw new CliError(
    'config',
    `there is no configuration at ${systemConfig} nor ${userConfig}; make one (benchd init), name one with --config, or try: benchd demo`,
  )
}

/** The folder of the state. */
export function dataDir(flag: string | undefined): string {
  const named = flag ?? process.env.BENCHD_DATA_DIR ?? process.env.STATE_DIRECTORY
  if (named) return resolve(named)
  if (exists(systemData)) return systemData
  return join(process.env.XDG_STATE_HOME || join(home(), '.local', 'state'), 'benchd')
}

/** The folder of topologies and workflows: named, or beside the configuration. */
export function topologiesDir(flag: string | undefined, config: string | undefined): string | undefined {
  const named = flag ?? process.env.BENCHD_TOPOLOGIES
  if (named) return resolve(named)
  return config === undefined ? undefined : join(dirname(config), 'topologies')
}

/** The place where a person keeps what is theirs. */
export function userFolder(): string {
  return join(process.env.XDG_CONFIG_HOME || join(home(), '.config'), 'benchd')
}

/** Throws for a user without a home: one that is a number and nothing else. */
function home(): string {
  try {
    return homedir()
  } catch (error) {
    throw new CliError('config', 'you have no home folder; set HOME, or BENCHD_DATA_DIR and BENCHD_CONFIG', { cause: error })
  }
}

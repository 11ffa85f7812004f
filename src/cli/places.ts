// The paths of configuration and data: from flag, environment, or the default of this computer.

import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { exists } from '../kit/folder.ts'
import { CliError } from './exit.ts'

/** The folder of the system service's configuration; systemd sets the variable. */
export const systemFolder = process.env.CONFIGURATION_DIRECTORY || '/etc/benchd'
const systemConfig = join(systemFolder, 'config.json')
export const systemData = '/var/lib/benchd'
/** The folder of systemd's sockets for the programs of bridges. */
export const bridgeSockets = '/run/benchd-bridges'

/** Returns the path of the configuration. Throws if none is named and none exists. */
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

/** Returns the data folder. */
export function dataDir(flag: string | undefined): string {
  const named = flag ?? process.env.BENCHD_DATA_DIR ?? process.env.STATE_DIRECTORY
  if (named) return resolve(named)
  if (exists(systemData)) return systemData
  return join(process.env.XDG_STATE_HOME || join(home(), '.local', 'state'), 'benchd')
}

/** Returns the folder of topologies and workflows: the named one, or one beside the configuration. */
export function topologiesDir(flag: string | undefined, config: string | undefined): string | undefined {
  const named = flag ?? process.env.BENCHD_TOPOLOGIES
  if (named) return resolve(named)
  return config === undefined ? undefined : join(dirname(config), 'topologies')
}

/** Returns the user's configuration folder. */
export function userFolder(): string {
  return join(process.env.XDG_CONFIG_HOME || join(home(), '.config'), 'benchd')
}

/** Returns the home folder. Throws for a user id without an account. */
function home(): string {
  try {
    return homedir()
  } catch (error) {
    throw new CliError('config', 'you have no home folder; set HOME, or BENCHD_DATA_DIR and BENCHD_CONFIG', { cause: error })
  }
}

// Tells a service to read its configuration file again, and words what came of it.

import { exists } from '../kit/folder.ts'
import { HostFiles } from '../kit/host_files.ts'
import { ask, type Service } from './client.ts'
import type { Fault } from './workflows.ts'

export type Reload = {
  success: true
  message: string
  config_file: string | null
  applied: string[]
  needs_restart: string[]
  faults: Fault[]
}

export function reload(service: Service): Promise<Reload> {
  return ask<Reload>(service, 'POST', '/api/system/reload')
}

/** Says what is left to do after a reload; undefined where that is nothing. */
export function todo({ needs_restart }: Pick<Reload, 'needs_restart'>): string | undefined {
  return needs_restart.length ? howToRestart() : undefined
}

export function howToRestart(): string {
  return exists('/run/systemd/system')
    ? 'when nothing runs: sudo systemctl restart benchd'
    : 'when nothing runs, end the service and start it again'
}

/** Whether that is the file at `path`, by whichever of its names. */
export async function isOf({ config_file }: Pick<Reload, 'config_file'>, path: string): Promise<boolean> {
  const files = new HostFiles()
  return config_file !== null && (await files.behind(config_file)) === (await files.behind(path))
}

// The service on a data folder of this computer, if it can be asked.

import type { ServiceView } from '../care/doctor/patient.ts'
import { exists } from '../kit/folder.ts'
import { isServed } from '../kit/folder_lock.ts'
import { ask, type Service } from './client.ts'
import { CliError } from './exit.ts'

/** `service` is the address for requests. */
export type LocalService =
  | Exclude<ServiceView, { is: 'answering' | 'absent' }>
  | { is: 'absent'; folder: string }
  | (Extract<ServiceView, { is: 'answering' }> & { service: Service })

/** Connects over the service's own socket, or over that for the group. */
export async function serviceOn(data_dir: string): Promise<LocalService> {
  const folders = [data_dir, ...(data_dir === '/var/lib/benchd' ? ['/run/benchd'] : [])].filter(exists)
  let closed: LocalService | undefined
  for (const folder of folders) {
    const view = await viewOf({ socket_of: folder }, folder)
    if (view.is === 'answering') return view
    if (view.is === 'closed') closed ??= view
  }
  return closed ?? { is: 'absent', folder: data_dir }
}

async function viewOf(service: Service, folder: string): Promise<LocalService> {
  try {
    await ask(service, 'GET', '/health')
    return { is: 'answering', service, get: (path) => ask(service, 'GET', path) }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    if (error.exit === 'unreachable' && !(await isServed(folder).catch(() => false))) return { is: 'absent', folder }
    return { is: 'closed', why: error.message }
  }
}

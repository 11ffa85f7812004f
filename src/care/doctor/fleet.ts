// The connection of the bench to the broker of its lab, as the service reports it.

import { readBytes, statusOf } from '../../kit/host_files.ts'
import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

type Link = {
  state: 'connected' | 'away' | 'foreign'
  failure: string | null
  waiting: number | null
  lag_s: number
  lost: number
  lab: string
}

/** Returns no findings without a broker in the configuration. */
export async function fleet({ config, service, files }: Patient): Promise<Finding[]> {
  const { ok, warn, fail, skip } = finder('fleet')
  if (!config?.fleet) return []
  const { credentials, servers } = config.fleet
  if (credentials?.startsWith('/') && (await statusOf(files.at(credentials)))) {
    const isClosed = await readBytes(files.at(credentials)).then(
      () => false,
      () => true,
    )
    if (isClosed) return [skip(`you may not read ${credentials}`, 'sudo benchd doctor')]
  } else if (credentials?.startsWith('/'))
    return [fail(`${credentials} is not there`, 'copy it from where benchd lab init wrote it, or take another one in fleet.credentials')]
  if (service.is !== 'answering') return [skip(`only the service connects to ${servers.join(', ')}`, 'benchd serve')]
  const { link } = await service.get<{ link: Link | null }>('/api/lab')
  if (!link) return [warn('the service runs without it', 'it takes the change at a restart: sudo systemctl restart benchd')]
  const { state, failure, waiting, lag_s, lost, lab } = link
  const behind = waiting ? `${waiting} events wait, the oldest for ${Math.round(lag_s)} s` : 'all events are sent'
  if (state === 'foreign')
    return [fail(failure ?? '', 'see which of the two boxes is the right one, then on that one: benchd lab new-epoch')]
  if (state === 'away')
    return [
      warn(
        failure ?? 'the broker is away',
        `see the broker at ${servers.join(', ')}; events are kept and sent later${waiting ? `: ${behind}` : ''}`,
      ),
    ]
  if (failure) return [warn(failure, `see the broker at ${servers.join(', ')}; ${behind}`)]
  const all = ok(`connected to the lab ${lab}; ${behind}`)
  return lost ? [all, warn(`${lost} events never reached the lab`, 'see the incidents: benchd incidents list')] : [all]
}

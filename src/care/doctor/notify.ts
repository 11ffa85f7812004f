// The receivers of messages and the state of their deliveries, as the service reports them.

import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

type Receiver = { host: string; waiting: number; delivered_at: number | null; failure: string | null }

/** Returns no findings without a receiver in the configuration. */
export async function notify({ config, service }: Patient): Promise<Finding[]> {
  const { ok, warn, skip } = finder('notify')
  if (!config?.notify.length) return []
  if (service.is !== 'answering') return [skip('only the service sends messages', 'benchd serve')]
  const { receivers } = await service.get<{ receivers: Receiver[] }>('/api/system/notify')
  return receivers.map(({ host, waiting, delivered_at, failure }) => {
    if (failure !== null)
      return warn(
        `no message reaches ${host}: ${failure}; ${waiting} wait`,
        'see its address and that it is there, then: benchd notify test',
      )
    return ok(delivered_at === null ? `${host}: no message was sent yet; benchd notify test sends one` : `${host} took the last message`)
  })
}

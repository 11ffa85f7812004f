// The connection of the bench to its MQTT broker, as the service reports it.

import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

type Link = { url: string; topic: string; is_connected: boolean; failure: string | null; dropped: number }

/** Returns no findings without a broker in the configuration. */
export async function mqtt({ config, service }: Patient): Promise<Finding[]> {
  const { ok, warn, skip } = finder('mqtt')
  if (!config?.mqtt) return []
  if (service.is !== 'answering') return [skip(`only the service connects to ${config.mqtt.url}`, 'benchd serve')]
  const { link } = await service.get<{ link: Link | null }>('/api/mqtt')
  if (!link) return [warn('the service runs without it', 'it takes the change at a restart: sudo systemctl restart benchd')]
  if (!link.is_connected)
    return [warn(link.failure ?? 'the broker is away', `see the broker at ${link.url}; the state is published anew when it is back`)]
  return [ok(`publishes to ${link.url} below ${link.topic}`)]
}

// The plug-ins of the configuration, as the service reports them.

import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

type Plugin = {
  name: string
  state: string
  layer: string
  module: string
  events_dropped: number
  restarts: number
  last_error: string | null
}

const { ok, warn, fail, skip } = finder('plugins')

/** Returns no findings without a plug-in in the configuration. */
export async function plugins({ config, service }: Patient): Promise<Finding[]> {
  const names = Object.keys(config?.plugins ?? {})
  if (names.length === 0) return []
  if (service.is !== 'answering') return [skip('only the service runs plug-ins', 'benchd serve')]
  const { plugins } = await service.get<{ plugins: Plugin[] }>('/api/plugins')
  const unknown = names.filter((name) => !plugins.some((plugin) => plugin.name === name))
  return [
    ...plugins.flatMap(findingsOf),
    ...unknown.map((name) => warn(`the service does not run the plug-in ${name} of the configuration yet`, 'benchd config reload')),
  ]
}

function findingsOf({ name, state, layer, module, events_dropped, restarts, last_error }: Plugin): Finding[] {
  const why = last_error ?? 'it says no reason'
  const again = `see its messages (benchd logs), then: benchd plugins restart ${name}`
  if (state === 'failed') return [fail(`the plug-in ${name} is given up: ${why}`, again)]
  if (state === 'held')
    return [warn(`safe mode keeps the plug-in ${name} from starting`, `end safe mode, then: benchd plugins restart ${name}`)]
  if (state === 'waiting') return [warn(`the plug-in ${name} has ended, and is started again soon: ${why}`, again)]
  const where = layer === 'in_process' ? 'in the process of the service, where it can delay a stop' : 'in a process of its own'
  const often = restarts === 0 ? '' : `, and was started again ${restarts === 1 ? 'once' : `${restarts} times`}`
  return [
    restarts > 0 || last_error !== null
      ? warn(`the plug-in ${name} ${state === 'starting' ? 'starts' : 'runs'} ${where}${often}; the last error: ${why}`, `mend ${module}`)
      : ok(`the plug-in ${name} runs ${where}`),
    ...(events_dropped > 0
      ? [warn(`the plug-in ${name} has lost ${events_dropped} events, because it is too slow`, `give it a longer "queue", or less to do`)]
      : []),
  ]
}

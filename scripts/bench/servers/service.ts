// The whole service in the process of a benchmark, on a data folder of its own.

import { checkConfig } from '../../../src/config.ts'
import { silent } from '../../../src/kit/log.ts'
import { type Service, startService } from '../../../src/main.ts'
import { ownFolder } from '../child.ts'

/** `config` adds to the least configuration, and `loaded` to what comes of it. */
export async function serviceWith(config: object, loaded: object = {}): Promise<Service & { data_dir: string }> {
  const data_dir = ownFolder()
  const checked = await checkConfig({ format: 1, listen: { host: '127.0.0.1', port: 0 }, ...config }, 'the bench')
  return { ...(await startService({ ...checked, ...loaded }, { data_dir, log: silent })), data_dir }
}

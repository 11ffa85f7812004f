// The service with a simulated shaker, and beside it a device whose program is told in the arguments.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkConfig } from '../../../src/config.ts'
import { silent } from '../../../src/kit/log.ts'
import { startService } from '../../../src/main.ts'
import { answerParent } from '../child.ts'
import type { Stoppable } from './stoppable.ts'

const [, , path = ''] = process.argv

const data_dir = mkdtempSync(join(tmpdir(), 'benchd-bridged-'))
process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))
const devices = [
  { device_id: 'device-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  {
    device_id: 'reader-1',
    driver: 'bridge',
    type: 'reader',
    transport: { kind: 'bridge', command: ['python3', path] },
    settings: { halt_s: 1 },
  },
]
const config = await checkConfig({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices }, 'the bench')
const { bench, url, close } = await startService(config, { data_dir, log: silent })
const { api_key } = await bench.keys.create({ name: 'bench', scope: 'operate' })

const stoppable: Stoppable = { port: Number(new URL(url).port), key: api_key, path: '/api/devices/device-1/stop' }
let isOver = false
const trouble = makeTrouble()
answerParent(stoppable, async () => {
  isOver = true
  await trouble
  await close()
  return {}
})

/** Has the program do what it does badly, again and again. */
async function makeTrouble(): Promise<void> {
  const reader = bench.registry.find('reader-1')
  while (!isOver) {
    await reader.perform('initialize', {}).catch(() => undefined)
    await reader.perform('read', {}).catch(() => undefined)
    await sleep(20)
  }
}

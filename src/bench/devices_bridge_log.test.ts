// What the log says of the programs of bridges when their devices are made.

import { test } from 'tap'
import { inMemory } from '../devices/descriptions.ts'
import { systemClock } from '../kit/clock.ts'
import { bridgeTo } from '../testing/bridges.ts'
import { benchConfig } from '../testing/http.ts'
import { configured } from './devices.ts'

/** The words of the log when the device is made. */
async function warnings(place: object): Promise<string[]> {
  const words: string[] = []
  const log = { info() {}, warn: (message: string) => void words.push(message), error() {} }
  const { devices } = await benchConfig({ devices: [bridgeTo('', { transport: { kind: 'bridge', ...place } })] })
  const descriptions = { of: () => inMemory(undefined) }
  const parts = { clock: systemClock, log, descriptions, simulations: new Map(), hardware: undefined } as unknown
  configured(devices[0]!, 1, parts as Parameters<typeof configured>[2])
  return words
}

test('the log says where the program of a bridge runs with the rights of the service, and not what its arguments are', async (t) => {
  const command = ['reader', '--token', 'T0K3N']
  t.same(await warnings({ command }), [
    'reader-1: its program runs as a child process with all rights of this service; systemd would give it a user of its own',
  ])
  t.same(await warnings({ socket: '/run/reader.sock' }), [])
  process.env.BENCHD_BRIDGES = '/run/benchd-bridges'
  t.teardown(() => delete process.env.BENCHD_BRIDGES)
  t.same(await warnings({ command }), [])
})

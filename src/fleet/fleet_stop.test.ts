// A stop knows nothing of the lab: it needs as many turns of the event loop with a fleet as without, whatever the broker does.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { emitMany } from '../testing/events.ts'
import { openTestBench, type TestedBench } from '../testing/http.ts'

/** Servers that are no good broker; each answers its address. */
const brokers: Record<string, (t: Test) => Promise<string>> = {
  'refuses connections': async () => 'nats://127.0.0.1:9',
  'takes connections and says nothing': (t) => speaking(t, () => {}),
  'says what no broker says': (t) => speaking(t, (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
}

for (const [what, broker] of Object.entries(brokers)) {
  test(`a stop goes out in as many turns as without a fleet while the broker ${what}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'benchd-stop-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const without = await turnsOfStop(await benchWith(t, `${folder}/without`, {}))
    const fleet = { servers: [await broker(t)], lab: 'floor-2', name: 'bench-1' }
    const setup = await benchWith(t, `${folder}/with`, { fleet })
    t.equal(setup.bench.fleet?.status().state, 'away')
    t.equal(await turnsOfStop(setup), without)
    t.equal(setup.bench.fleet?.status().sent, 0)
  })
}

/** A bench that shakes, with more events than were sent. */
async function benchWith(t: Test, folder: string, more: object): Promise<TestedBench> {
  const setup = await openTestBench(t, more, { folder })
  const { ask, bench } = setup
  await ask('POST', '/api/devices/shaker-1/initialize')
  emitMany(bench.hub, 2000)
  await bench.hub.log.until()
  return setup
}

/** Counts the turns from the request of a stop until its bytes are on the wire. */
async function turnsOfStop({ hono, bench, secrets }: TestedBench): Promise<number> {
  const said = () =>
    bench.registry
      .find('shaker-1')
      .wire()
      .frames.filter(({ text }) => text.startsWith('shakeEmergencyOff')).length
  const before = said()
  const answer = hono.request('/api/devices/shaker-1/stop', {
    method: 'POST',
    headers: { 'X-API-Key': secrets.operate, Host: '127.0.0.1' },
  })
  let turns = 0
  for (; said() === before; turns++) await new Promise(setImmediate)
  void answer
  return turns
}

async function speaking(t: Test, speak: (socket: Socket) => unknown): Promise<string> {
  const server = createServer((socket) => {
    t.teardown(() => socket.destroy())
    speak(socket.on('error', () => {}))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `nats://127.0.0.1:${(server.address() as AddressInfo).port}`
}

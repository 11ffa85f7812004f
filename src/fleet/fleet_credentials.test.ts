// Credentials that end while a bench is connected: the bench goes on and says so, and new ones are taken up from the same file.

import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Test } from 'tap'
import { type TestBroker, testBroker } from '../testing/broker.ts'
import { emitMany, upTo } from '../testing/events.ts'
import { countedIn, until } from '../testing/fleet.ts'
import { openTestBench, type TestedBench } from '../testing/http.ts'
import { natsAccounts } from '../testing/nats_accounts.ts'
import { withBroker } from '../testing/with_broker.ts'
import { newKey } from './wire.ts'

const now_s = () => Math.floor(Date.now() / 1000)

withBroker('a user whose time is over is named by its file; the bench goes on, and takes up new credentials', async (t) => {
  const file = `${t.testdir({ data: {} })}/bench-1.creds`
  const { config, credentials } = natsAccounts()
  const reader = `${file}.reader`
  writeFileSync(reader, credentials(now_s() + 3600))
  const broker = await testBroker(t, { config, credentials: reader })
  writeFileSync(file, credentials(now_s() + 3))
  const bench = await connectedBench(t, broker, file)
  await refused(t, bench, file)
  writeFileSync(file, credentials(now_s() + 3600))
  await takenUp(t, bench, broker)
})

withBroker('a key that the broker knows no more is named by its file; the bench goes on, and takes up a new key', async (t) => {
  const file = `${t.testdir({ data: {} })}/bench-1.seed`
  const [reader, first, second] = [newKey(), newKey(), newKey()]
  writeFileSync(file, first.secret)
  writeFileSync(`${file}.reader`, reader.secret)
  const users = (...keys: { public_key: string }[]) =>
    `authorization { users: [ ${[reader, ...keys].map(({ public_key }) => `{ nkey: ${public_key} }`).join(', ')} ] }`
  const broker = await testBroker(t, { config: users(first), credentials: `${file}.reader` })
  const bench = await connectedBench(t, broker, file)
  await until(() => bench.bench.fleet?.status().waiting === 0)
  broker.reload(users())
  await refused(t, bench, file)
  writeFileSync(file, second.secret)
  broker.reload(users(second))
  await takenUp(t, bench, broker)
})

/** A bench with ten events for the broker, and a device that can shake. */
async function connectedBench(t: Test, broker: TestBroker, credentials: string): Promise<TestedBench> {
  const fleet = { servers: [broker.url], lab: 'floor-2', name: 'bench-1', credentials }
  const bench = await openTestBench(t, { fleet }, { folder: `${dirname(credentials)}/data` })
  emitMany(bench.bench.hub, 10)
  return bench
}

/** Waits until the broker refuses the bench, and looks at what the bench says and does meanwhile. */
async function refused(t: Test, { bench, ask }: TestedBench, file: string): Promise<void> {
  const words = new RegExp(`refuses the credentials in ${file}: they have ended`)
  await until(() => words.test(bench.fleet?.status().failure ?? ''))
  t.match((await ask('GET', '/api/lab')).body, { link: { state: 'away', failure: words } })
  t.match((await ask('GET', '/metrics')).text, /^benchd_fleet_connected 0$/m)
  t.match(await ask('POST', '/api/devices/shaker-1/initialize'), { status: 200 })
  t.match(await ask('POST', '/api/devices/shaker-1/stop'), { status: 200, body: { success: true } })
  emitMany(bench.hub, 10, 'run-1', 10)
  await bench.hub.log.until()
}

async function takenUp(t: Test, { bench, ask }: TestedBench, broker: TestBroker): Promise<void> {
  await until(() => bench.fleet?.status().state === 'connected' && bench.fleet.status().waiting === 0)
  t.match((await ask('GET', '/api/lab')).body, { link: { state: 'connected', failure: null } })
  t.match((await ask('GET', '/metrics')).text, /^benchd_fleet_connected 1$/m)
  t.same(countedIn(await broker.messages()), upTo(20))
}

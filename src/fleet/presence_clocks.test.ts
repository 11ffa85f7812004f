// Benches whose clocks are an hour wrong: who is there is counted from the arrival, and the events of each stay in order.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { installation } from '../kit/installation.ts'
import { freePort } from '../kit/ports.ts'
import { brokerOn, testBroker } from '../testing/broker.ts'
import { benchd, running } from '../testing/cli.ts'
import { clockOff, noFakeClock } from '../testing/fake_clock.ts'
import { fleetBench, linesOf, until } from '../testing/fleet.ts'
import { noBroker } from '../testing/with_broker.ts'
import { makeLab, placeIn } from './lab_folder.ts'
import { connectTo } from './wire.ts'

const skip = noBroker || noFakeClock

test('benches whose clocks are two hours apart see each other, and their events arrive in order', { skip }, async (t) => {
  const broker = await testBroker(t)
  const folder = t.testdir({ reader: {}, ahead: {}, behind: {} })
  const reader = await fleetBench(t, `${folder}/reader`, broker.url, { name: 'reader' })
  await Promise.all([
    served(t, { folder, name: 'ahead', server: broker.url, clock: '+1h' }),
    served(t, { folder, name: 'behind', server: broker.url, clock: '-1h' }),
  ])
  const seen = () => reader.fleet.benches().filter(({ state }) => state === 'here')
  await until(() => seen().length === 3)
  for (const { name, heard_s } of seen()) t.ok(heard_s !== null && heard_s >= 0 && heard_s < 35, `${name} was heard ${heard_s} s ago`)
  for (const name of ['ahead', 'behind']) {
    // Each is an event: the first of them latches a fault.
    for (const verb of ['stop', 'initialize'])
      t.match(await benchd(folder, ['devices', verb, 'shaker-1', '--data-dir', `${folder}/${name}`]), { code: 0 })
  }
  const linesFrom = async (name: string) => linesOf(await broker.messages()).filter(({ bench }) => bench === name)
  await until(async () => (await linesFrom('ahead')).length >= 2 && (await linesFrom('behind')).length >= 2)
  const [ahead, behind] = [(await linesFrom('ahead'))[0]!.event!.timestamp, (await linesFrom('behind'))[0]!.event!.timestamp]
  const apart = ahead - behind
  t.ok(Math.abs(apart - 7200) < 600, `their clocks are ${apart} s apart`)
  for (const name of ['ahead', 'behind']) {
    const numbers = (await linesFrom(name)).map(({ seq }) => seq)
    t.same(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
  }
})

test('a certificate that is not valid yet leads to the clock', { skip }, async (t) => {
  const folder = t.testdir({})
  const port = await freePort()
  const { lab } = await makeLab(`${folder}/lab`, ['one'], { name: 'floor-2', host: '127.0.0.1', port, store: `${folder}/store` })
  const env = { ...process.env, ...clockOff('+2h'), BENCHD_CERT_NAMES: lab.host }
  execFileSync(installation().cert_script, [`${folder}/lab/tls`], { env })
  await brokerOn(t, `${folder}/lab/nats.conf`, port)
  await t.rejects(connectTo(placeIn(`${folder}/lab`, lab, 'admin')), {
    code: 'disconnected',
    message: /shows a certificate that is not valid now: see that the clock of this computer is right/,
  })
})

type Served = { folder: string; name: string; server: string; clock: string }

/** Runs `benchd serve` with one simulated device, on a clock that is wrong. */
async function served(t: Test, { folder, name, server, clock }: Served): Promise<void> {
  const config = {
    format: 1,
    system_id: name,
    listen: { host: '127.0.0.1', port: await freePort() },
    devices: [{ device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }],
    fleet: { servers: [server], lab: 'floor-2', name },
  }
  const file = `${folder}/${name}.json`
  writeFileSync(file, JSON.stringify(config))
  const { child } = running(t, folder, ['serve', '--config', file, '--data-dir', `${folder}/${name}`], clockOff(clock))
  child.stdout.resume()
}

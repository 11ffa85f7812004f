// A broker that is killed over and over while events come: each time the state is there again, and nothing piles up.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openService } from '../testing/http.ts'
import { mosquitto } from '../testing/mosquitto.ts'
import { withMosquitto } from '../testing/with_mosquitto.ts'

withMosquitto('a broker that is killed 20 times at 100 events a second has the present state each time that it is back', async (t) => {
  const broker = await mosquitto(t)
  const mqtt = { url: broker.url, events: true }
  const { ask, bench } = await openService(t, { system_id: 'bench-1', mqtt })
  const topic = 'benchd/bench-1/device/shaker-1/state'
  bench.load.start({ rate: 100, seconds: 600 })
  for (let round = 0; round < 20; round++) {
    const isStopped = round % 2 === 0
    await broker.kill()
    // The state changes while there is no broker.
    await ask('POST', `/api/devices/shaker-1/${isStopped ? 'stop' : 'initialize'}`)
    await broker.start()
    const { heard, next, close } = await broker.listen()
    const isRight = (payload: string) => (JSON.parse(payload).stopped !== null) === isStopped
    const before = heard.some((one) => one.topic === topic && isRight(one.payload))
    if (!before) await next((one) => one.topic === topic && one.payload !== '' && isRight(one.payload))
    close()
    const kept = (await broker.retained()).get(topic)
    t.ok(kept !== undefined && isRight(kept), `round ${round}`)
  }
  const { sent, dropped, is_connected } = bench.links.mqtt!.status()
  t.ok(is_connected)
  t.ok(sent > 20, `${sent} sent, ${dropped} dropped`)
})

withMosquitto('a broker with TLS is reached where its certificate is known, and else it is not', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mqtt-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const about = ['-subj', '/CN=broker', '-addext', 'subjectAltName=IP:127.0.0.1']
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...about, '-keyout', key, '-out', cert]
  execFileSync('openssl', made, { stdio: 'ignore' })
  const broker = await mosquitto(t, `allow_anonymous true\ncertfile ${cert}\nkeyfile ${key}\nuser root`, 'mqtts')
  const listener = await broker.listen('--cafile', cert)
  const online = listener.next(({ topic, payload }) => topic === 'benchd/bench-1/availability' && payload === 'online')
  const { bench } = await openService(t, { system_id: 'bench-1', mqtt: { url: broker.url, ca: cert } })
  await online
  t.match(bench.links.mqtt!.status(), { is_connected: true, failure: null })
  const wary = await openService(t, { system_id: 'bench-2', mqtt: { url: broker.url } })
  while (wary.warned.length === 0) await new Promise(setImmediate)
  t.match(wary.warned, [/mqtt: the broker mqtts:.* is away: .*self.signed certificate/])
})

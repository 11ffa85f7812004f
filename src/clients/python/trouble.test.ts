// What a new user of the Python client meets: the printed examples, proxies, wrong addresses, keys that end, clocks that are set, and asyncio.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { demoConfig, prepareDemo } from '../../examples/demo.ts'
import { silent } from '../../kit/log.ts'
import { startService } from '../../main.ts'
import { atTheEnd, openService } from '../../testing/http.ts'
import { printed, python, source, withPython } from '../../testing/python.ts'

/** The example of a docstring or of a guide: `text` from its first import on, up to the events, of which one is taken. */
function asTyped(text: string): string {
  const [code = '', indent = ''] = /^( *)from benchd import[\s\S]*?print\(event\["event_name"\]\)/m.exec(text) ?? []
  return `${code
    .replaceAll(`\n${indent}`, '\n')
    .trimStart()
    .replace(/bench = Bench.*/, '')}; break`
}

/** Makes the file that the examples attach, and imports what the guide imports first. */
const around = 'from datetime import datetime, timedelta\nopen("export.csv", "w").write("well,od\\n")\n'

withPython('the examples of the docstring and of the guide work as they are printed', async (t) => {
  const ending = atTheEnd(t)
  const { listen, ...config } = await demoConfig(100)
  const service = await startService({ ...config, listen: { ...listen, port: 0 } }, { data_dir: t.testdir({}), log: silent })
  ending.push(() => service.close())
  const { url, bench } = service
  const key = await prepareDemo(bench)
  const guide = readFileSync(new URL('../../../../src/clients/README.md', import.meta.url), 'utf8')
  const examples = [
    [source, []],
    [guide, [/'temperature': 22/, /^busy$/]],
  ] as const
  for (const [text, first] of examples) {
    const code = asTyped(text)
    t.ok(code.split('\n').length > 10)
    const { child, ended, line } = python(t, { url, key }, `${around}${code}\n`)
    for (const expected of [...first, /^COMPLETED/]) t.match(await line(), expected)
    // Events of the run that are still being written may come before this one; nothing else does.
    while (bench.hub.streams.subscribers === 0 && child.exitCode === null) await new Promise(setImmediate)
    bench.hub.emit('CUSTOM.n.EMITTED', {})
    t.match(await line(), /^(CUSTOM\.n|(ACTION|METHOD|THREAD|WORKFLOW|EXECUTION|SUBMISSION)\.\S+)\.[A-Z_]+$/)
    t.match(await ended, { code: 0, stderr: '' })
  }
})

withPython('with asyncio a stop waits for no other call, and nothing that is under way holds up the end of the program', async (t) => {
  const { url, secrets, bench } = await openService(t, { time_scale: 1 })
  const running = bench.registry.find('shaker-1')
  const program = `
import asyncio
async def main():
    async with AsyncBench.from_env() as bench:
        shaker = bench["shaker-1"]
        await shaker.initialize()
        await shaker.lock_plate()
        async def follow():
            async for event in bench.events(): pass
        others = [asyncio.create_task(follow()) for _ in range(40)]
        shaking = asyncio.create_task(shaker.shake(speed=500, duration=3600))
        while (await shaker.info())["operation"] is None: pass
        # On a busy computer an instrument may acknowledge later than the answer waits for.
        say("success" in await bench.stop())
        try: await shaking
        except DeviceFailed as error: say(error.reason)
        await shaker.initialize()
        await shaker.lock_plate()
        shaking = asyncio.create_task(shaker.shake(speed=500, duration=3600))
        while (await shaker.info())["operation"] is None: pass
        for other in others: other.cancel()
        try: await asyncio.wait_for(bench.live().__anext__(), 60)
        finally: shaking.cancel()
asyncio.run(main())
`
  t.same(await printed(t, { url, key: secrets.operate }, program), [true, 'stopped'])
  t.equal(running.info().operation?.name, 'shake', 'an operation goes on when its task is cancelled')
  while (bench.hub.streams.subscribers > 0) await new Promise(setImmediate)
})

/** A server that answers as a proxy does before a service: by its number among the requests. */
async function proxy(t: Test, port: number, answers: ((method: string) => string | undefined)[]) {
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    near.once('data', (bytes: Buffer) => {
      const answer = answers.shift()?.(bytes.toString().split(' ')[0]!)
      far.write(bytes)
      near.pipe(far)
      if (answer === undefined) return far.pipe(near)
      // The service has answered, and nobody hears of it.
      return far.once('data', () => near.end(answer))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const page = (head: string, body = '<html>sorry</html>') =>
  `HTTP/1.1 ${head}\r\nServer: nginx\r\nContent-Type: text/html\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`

withPython('a proxy that gives up the service is a connection that broke; a page of somebody else is no answer', async (t) => {
  const { port, secrets, ask } = await openService(t)
  const key = secrets.operate
  await ask('POST', '/api/devices/shaker-1/initialize')
  const gateway = [() => page('502 Bad Gateway'), () => page('504 Gateway Time-out'), () => page('503 Service Unavailable')]
  const through = await proxy(t, port, [...gateway, () => undefined, ...gateway])
  const program = 'say(bench["shaker-1"].unlock_plate()["result"]["success"], len(bench.devices()) > 1)'
  t.same(await printed(t, { url: through, key }, program), [true, true])
  const { text } = await ask('GET', '/metrics')
  t.match(text, /^benchd_device_operations_total\{.*"unlock_plate".*\} 1$/m, 'done once')
  const never = await proxy(
    t,
    port,
    Array(1000).fill(() => page('502 Bad Gateway')),
  )
  const tries = `
for call in (bench["shaker-1"].unlock_plate, bench.devices, lambda: next(bench.events())):
    try: call()
    except BenchError as error: say([type(error).__name__, error.reason])
`
  t.same(await printed(t, { url: never, key, retry_s: 1 }, tries), [
    ['OutcomeUnknown', 'broken_off'],
    ['Unreachable', 'unreachable'],
    ['Unreachable', 'unreachable'],
  ])
  const answers = Array(3)
    .fill(() => page('301 Moved Permanently\r\nLocation: https://bench-1/'))
    .concat(Array(3).fill(() => page('200 OK')))
  t.same(await printed(t, { url: await proxy(t, port, answers), key }, tries + tries), [
    ...Array(3).fill(['Refused', 'redirect']),
    ...Array(3).fill(['Refused', 'no_bench']),
  ])
})

withPython('a request that was never sent is known not to be done, and the wrong scheme is refused at once', async (t) => {
  const { port, secrets } = await openService(t)
  const program = `
for call in (bench["shaker-1"].unlock_plate, bench.devices):
    try: call()
    except BenchError as error: say([type(error).__name__, error.reason])
`
  const key = secrets.operate
  t.same(await printed(t, { url: `https://127.0.0.1:${port}`, key }, program), Array(2).fill(['Refused', 'no_tls']))
  const hangsUp = createServer((near) => near.on('error', () => undefined).destroy())
  await once(hangsUp.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => hangsUp.close())
  const url = `https://127.0.0.1:${(hangsUp.address() as AddressInfo).port}`
  t.same(await printed(t, { url, key, retry_s: 1 }, program), Array(2).fill(['Unreachable', 'unreachable']))
})

withPython('events of a service that never answers, or whose certificate nobody vouches for, are not waited for in silence', async (t) => {
  const folder = mkdtempSync(`${tmpdir()}/benchd-tls-`)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync(fileURLToPath(new URL('../../../../scripts/make-cert.sh', import.meta.url)), [folder])
  const { port, secrets } = await openService(t, {
    listen: { host: '127.0.0.1', port: 0, tls: { cert: `${folder}/cert.pem`, key: `${folder}/key.pem` } },
  })
  const program = `
for call in (bench.events, bench.live):
    try: next(call())
    except BenchError as error: say([type(error).__name__, error.reason])
`
  const key = secrets.read
  t.same(await printed(t, { url: 'http://127.0.0.1:9', key, retry_s: 1 }, program), Array(2).fill(['Unreachable', 'unreachable']))
  t.same(await printed(t, { url: `https://localhost:${port}`, key }, program), Array(2).fill(['Refused', 'certificate']))
  const asks = program.replace('bench.live', 'lambda: iter(bench.devices())')
  t.same(
    await printed(t, { url: `http://localhost:${port}`, key }, asks),
    Array(2).fill(['Refused', 'tls']),
    'http:// to a service with TLS',
  )
})

withPython('a key that expires is refused from then on, and what it had asked for is not known', async (t) => {
  const { url, port, bench, ask } = await openService(t)
  await ask('POST', '/api/devices/shaker-1/initialize')
  const expires_at = Date.now() / 1000 + 3600
  const { api_key: key, key_id } = await bench.keys.create({ name: 'short', scope: 'operate', expires_at })
  const through = await proxy(t, port, [
    () => {
      void bench.keys.revoke(key_id)
      return page('502 Bad Gateway')
    },
  ])
  const program = 'try: bench["shaker-1"].unlock_plate()\nexcept BenchError as error: say([type(error).__name__, error.status])'
  t.same(await printed(t, { url: through, key }, program), [['OutcomeUnknown', 401]])
  const over = await bench.keys.create({ name: 'over', scope: 'operate', expires_at })
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + 2 * 3_600_000
  t.same(await printed(t, { url, key: over.api_key }, program), [['Refused', 401]])
})

withPython('nothing is done twice and nothing is forgotten when somebody sets the clock of the bench', async (t) => {
  const { port, secrets, ask } = await openService(t)
  await ask('POST', '/api/devices/shaker-1/initialize')
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  const set = (days: number) => () => {
    Date.now = () => now() + days * 86_400_000
    return page('502 Bad Gateway')
  }
  const url = await proxy(t, port, [set(30), set(-30), set(400)])
  const program = `
say(bench["shaker-1"].lock_plate()["result"]["success"])
shaking = bench["shaker-1"].shake.start(speed=500, duration=60)
say(shaking.wait()["result"]["success"], shaking.refresh()["status"])
`
  t.same(await printed(t, { url, key: secrets.operate }, program), [true, true, 'ended'])
  const { text } = await ask('GET', '/metrics')
  t.match(text, /^benchd_device_operations_total\{.*"lock_plate".*\} 1$/m, 'done once')
})

withPython('what cannot be meant is told before anything is sent', async (t) => {
  const { url, secrets } = await openService(t)
  const program = `
import os
try: Bench(os.environ["BENCHD_URL"], "k", fingerprint="ab")
except ValueError as error: say(str(error)[:36])
say(len(Bench(os.environ["BENCHD_URL"], os.environ["BENCHD_API_KEY"] + "\\n").devices()) > 1)
say(repr(bench["shaker-1"].shake), "shake" in dir(bench["shaker-1"]), "key" in repr(bench))
`
  t.same(await printed(t, { url, key: secrets.operate }, program), [
    'a fingerprint is of a certificate, a',
    true,
    "bench['shaker-1'].shake",
    true,
    false,
  ])
})

// Cameras that are slow, dead, wrong or large.

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import type { Camera } from '../config/cameras.ts'
import { VirtualClock } from '../kit/clock.ts'
import { Cameras } from './cameras.ts'

const jpeg = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(2000, 7)])
const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const webp = Buffer.concat([Buffer.from('RIFF'), Buffer.from([1, 2, 3, 4]), Buffer.from('WEBPVP8 ')])

async function cameraOf(t: Test, answer: RequestListener, { path = '/', user = '' } = {}) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? ''}`.trim())
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const camera: Camera = { name: 'deck', url: `http://${user}127.0.0.1:${port}${path}`, at_incidents: false, at_run_ends: false }
  const [clock, network] = [new VirtualClock(), new VirtualClock()]
  const cameras = new Cameras({ cameras: () => [camera], clock, network })
  t.teardown(() => {
    cameras.close()
    server.closeAllConnections()
    server.close()
  })
  return { cameras, camera, asked, clock, network, server }
}

test('pages share a picture a second, and the kind is that of the first bytes', async (t) => {
  let bytes = jpeg
  const { cameras, asked, clock } = await cameraOf(t, (_, response) => response.setHeader('Content-Type', 'text/html').end(bytes), {
    user: 'me:pass%20word@',
  })
  t.same(cameras.list(), [{ name: 'deck', taken_at: null, failure: null, at_incidents: false, at_run_ends: false }])
  const [one, two] = await Promise.all([cameras.picture('deck'), cameras.picture('deck')])
  t.equal(one, two)
  t.match(one, { media_type: 'image/jpeg' })
  t.same(Buffer.from(one.bytes), jpeg)
  t.equal(await cameras.picture('deck'), one)
  t.same(asked, [`/ Basic ${Buffer.from('me:pass word').toString('base64')}`])
  await clock.advance(1000)
  bytes = png
  t.match(await cameras.picture('deck'), { media_type: 'image/png' })
  await clock.advance(1000)
  bytes = webp
  t.match(await cameras.picture('deck'), { media_type: 'image/webp' })
  t.equal(asked.length, 3)
  t.match(cameras.list(), [{ taken_at: Number, failure: null }])
  await t.rejects(cameras.picture('other'), { code: 'not_found' })
})

test('what is no picture is refused, in a sentence without the password', async (t) => {
  const answers: Record<string, [RequestListener, RegExp]> = {
    redirect: [(_, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(), /answered 302, a redirect/],
    refused: [(_, response) => response.writeHead(401).end(), /answered 401/],
    'not a redirect': [(_, response) => response.writeHead(400).end(), /answered 400$/],
    page: [(_, response) => response.setHeader('Content-Type', 'image/jpeg').end('<html><script>'), /no JPEG, PNG or WebP/],
    empty: [(_, response) => response.end(), /no JPEG, PNG or WebP/],
    large: [(_, response) => response.end(Buffer.concat([jpeg, Buffer.alloc(1024 * 1024)])), /more than 1 MiB/],
    cut: [(_, response) => response.write(jpeg, () => response.destroy()), /could not be reached \(ECONNRESET\)/],
  }
  for (const [name, [answer, words]] of Object.entries(answers)) {
    const { cameras } = await cameraOf(t, answer, { user: 'me:secret@', path: '/snap?token=secret' })
    const error = await cameras.picture('deck').then(
      () => undefined,
      (error: Error) => error,
    )
    t.match(error, { code: 'no_reply', message: words }, name)
    t.notMatch(error?.message, 'secret')
    t.match(cameras.list(), [{ taken_at: null, failure: words }])
    await t.rejects(cameras.picture('deck'), { message: words }, 'the failure is shared as well')
  }
})

test('a camera that is too slow is given up after two seconds, and asked again later', async (t) => {
  const { cameras, network, clock, asked } = await cameraOf(t, (_, response) => response.write(jpeg.subarray(0, 100)))
  const first = cameras.picture('deck')
  first.catch(() => undefined)
  while (asked.length < 1) await new Promise((resolve) => setImmediate(resolve))
  await network.advance(2000)
  await t.rejects(first, { code: 'no_reply', message: /the camera deck has sent no whole picture within 2 s/ })
  await clock.advance(1000)
  const second = cameras.picture('deck')
  second.catch(() => undefined)
  while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve))
  cameras.close()
  await t.rejects(second, { message: /the service is stopping/ })
})

test('a picture that has arrived in part when the time is over is no picture, also without a length', async (t) => {
  let arrived = () => {}
  const here = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const { cameras, network } = await cameraOf(t, ({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
    socket.write(jpeg.subarray(0, 100), () => arrived())
  })
  const picture = cameras.picture('deck')
  picture.catch(() => undefined)
  await here
  // The bytes are in the process before its next turns.
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  await network.advance(2000)
  await t.rejects(picture, { code: 'no_reply', message: /the camera deck has sent no whole picture within 2 s/ })
})

test('a port where nobody listens is told', async (t) => {
  const { cameras, server } = await cameraOf(t, () => undefined)
  server.close()
  await once(server, 'close')
  await t.rejects(cameras.picture('deck'), { message: 'the camera deck could not be reached (ECONNREFUSED)' })
})

test('a camera with a name is looked up, and two cameras of one host together', async (t) => {
  const { camera } = await cameraOf(t, (_, response) => response.end(jpeg))
  const port = new URL(camera.url).port
  const two = ['one', 'two'].map((name) => ({ ...camera, name, url: `http://bench.lab:${port}/${name}` }))
  const looked: string[] = []
  const resolve = async (host: string) => {
    looked.push(host)
    return [{ address: '127.0.0.1', family: 4 }]
  }
  const cameras = new Cameras({ cameras: () => two, clock: new VirtualClock(), network: new VirtualClock(), resolve })
  for (const one of await Promise.all(['one', 'two'].map((name) => cameras.picture(name)))) t.match(one, { media_type: 'image/jpeg' })
  t.same(looked, ['bench.lab'])
  cameras.close()
})

test('a name server that does not answer is asked for one name at a time, and delays no camera with a number', async (t) => {
  const { camera } = await cameraOf(t, (_, response) => response.end(jpeg))
  const port = new URL(camera.url).port
  const named = ['a', 'b', 'a2'].map((name) => ({ ...camera, name, url: `http://${name[0]}.lab:${port}/` }))
  const looked: string[] = []
  const resolve = (host: string) => {
    looked.push(host)
    return new Promise<never>(() => undefined)
  }
  const [clock, network] = [new VirtualClock(), new VirtualClock()]
  const cameras = new Cameras({ cameras: () => [...named, camera], clock, network, resolve })
  const lost = ['a', 'b', 'a', 'a2'].map((name) => cameras.picture(name))
  for (const one of lost) one.catch(() => undefined)
  t.match(await cameras.picture('deck'), { media_type: 'image/jpeg' })
  t.same(looked, ['a.lab'])
  await network.advance(2000)
  for (const one of lost) await t.rejects(one, { code: 'no_reply' })
  await clock.advance(1000)
  const again = cameras.picture('a')
  again.catch(() => undefined)
  t.match(await cameras.picture('deck'), { media_type: 'image/jpeg' })
  t.same(looked, ['a.lab'], 'still the first question')
  cameras.close()
  await t.rejects(again, { code: 'no_reply' })
})

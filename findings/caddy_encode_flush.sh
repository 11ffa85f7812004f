#!/usr/bin/env bash
# Caddy 2.6.2 with `encode` compresses a stream of events whose first piece is large, and then never flushes it.
#
# One would guess: `encode` passes a response with `Cache-Control: no-transform` as it is, and a response that is streamed is flushed after each
#   piece, at the latest with `flush_interval -1` in `reverse_proxy`.
# What happens: a response of a type that `encode` compresses (`text/*`, `application/json`, …) whose first piece has more than 512 bytes is
#   compressed, `text/event-stream` too. The client gets the header of gzip, 10 bytes, and nothing more while the stream is open. A first piece of
#   512 bytes or less passes at once, as does all that follows it, so a stream that begins with little works. `no-transform` and
#   `flush_interval -1` change nothing.
# Consequence: a server sends `Content-Encoding: identity` with a stream, which Caddy leaves alone. A test of a stream behind a proxy begins with a
#   large piece.
# Versions: Caddy 2.6.2-5 (the package of Debian 12), Node.js 20.20. Source: seen by running this; `encode` and its minimum of 512 bytes are
#   described in https://caddyserver.com/docs/caddyfile/directives/encode.
# Output seen:
#   512 bytes:                                    all of the first piece, and the next
#   513 bytes:                                    nothing of the stream, gzip
#   513 bytes, no-transform:                      nothing of the stream, gzip
#   513 bytes, Content-Encoding: identity:        all of the first piece, and the next
# Exits 0 when it happens as described, 1 when that has changed. Runs on Debian 12, whose package it takes: `apt-get update` comes first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root caddy=2.6.2-5
dpkg-deb -x caddy_*.deb .
cat >trial.mjs <<'JS'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { createConnection } from 'node:net'

// The first piece has the size that the path names; the next one is sent when the client has had time for the first.
const pieces = []
const server = createServer((request, response) => {
  const { size, ...headers } = JSON.parse(decodeURIComponent(request.url.slice(1)))
  response.writeHead(200, { 'Content-Type': 'text/event-stream', ...headers })
  response.write(`data: ${'x'.repeat(size - 8)}\n\n`)
  pieces.push(setInterval(() => response.write('data: next\n\n'), 100))
}).listen(0, '127.0.0.1')
await once(server, 'listening')

const probe = createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address()
await new Promise((done) => probe.close(done))
writeFileSync(
  'Caddyfile',
  `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  encode gzip
  reverse_proxy 127.0.0.1:${server.address().port} {
    flush_interval -1
  }
}
`,
)
const caddy = spawn('usr/bin/caddy', ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'], {
  stdio: 'ignore',
  env: { ...process.env, HOME: process.cwd() },
})
process.once('exit', () => caddy.kill())
const isUp = () =>
  new Promise((done) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => done(true)).once('error', () => done(false))
    socket.once('connect', () => socket.destroy())
  })
while (!(await isUp())) await new Promise((done) => setTimeout(done, 50))

// A stream has passed when its second piece is there. For one that is held back, ten more pieces were sent in vain.
async function asked(size, headers = {}) {
  const path = `/${encodeURIComponent(JSON.stringify({ size, ...headers }))}`
  const request = get({ host: '127.0.0.1', port, path, headers: { 'Accept-Encoding': 'gzip' } })
  const [response] = await once(request, 'response')
  let body = ''
  const passed = new Promise((done) => {
    response.on('data', (chunk) => (body += chunk.toString('latin1')).includes('next') && done(true))
  })
  const late = new Promise((done) => setTimeout(() => done(false), 1100))
  const isPassed = await Promise.race([passed, late])
  request.destroy()
  const told = isPassed ? 'all of the first piece, and the next' : `nothing of the stream, ${response.headers['content-encoding']}`
  const more = Object.entries(headers).map(([name, value]) => (name === 'Cache-Control' ? value : `${name}: ${value}`))
  console.log(`${`${[`${size} bytes`, ...more].join(', ')}:`.padEnd(46)}${told}`)
  return isPassed
}

const seen = [
  await asked(512),
  await asked(513),
  await asked(513, { 'Cache-Control': 'no-transform' }),
  await asked(513, { 'Content-Encoding': 'identity' }),
]
pieces.forEach(clearInterval)
server.close()
server.closeAllConnections()
caddy.kill()
process.exitCode = seen.join() === 'true,false,false,true' ? 0 : 1
JS
node trial.mjs

#!/usr/bin/env bash
# Node's HTTP client gives a body that its own program cut off for a whole one, if the answer has no length and the request is destroyed with an error.
#
# One would guess: after `request.destroy(new Error('too slow'))` in the middle of a body, reading the response throws, and `response.complete` is
#   false, as the documentation of `message.complete` says of a connection that ended early.
# What happens: where the end of the connection ends the body (no Content-Length, not chunked), reading ends as if the body were whole, without an
#   error, and `complete` is true. The same `destroy()` without an error throws ECONNRESET (and `complete` is true as well); with a length or chunks
#   it throws ECONNRESET and `complete` is false; `response.destroy(error)` throws that error.
# Consequence: a program with a time limit notes itself that it gave up, and looks there before it takes the body; or it destroys the response.
# Versions: Node.js 24.21.0 (package node@24.21.0); the same with 20.20.2 and 22.23.3. Source: seen by running this;
#   https://nodejs.org/api/http.html#messagecomplete
# Output seen:
#   no length, request.destroy(error): ends with "half", complete true
#   no length, request.destroy(): throws ECONNRESET, complete true
#   no length, response.destroy(error): throws too slow, complete true
#   a length, request.destroy(error): throws ECONNRESET, complete false
#   chunks, request.destroy(error): throws ECONNRESET, complete false
# Exits 0 when it happens as described, 1 when that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node@24.21.0
cat >trial.mjs <<'JS'
import { request } from 'node:http'
import { createServer } from 'node:net'

/** Reads half of a body, gives up in this way, and says how the reading ended. */
async function trial(head, body, giveUp) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const asked = request({ port: server.address().port, host: '127.0.0.1', agent: false }).on('error', () => {})
  asked.end()
  const response = await new Promise((resolve) => asked.on('response', resolve))
  setTimeout(() => giveUp(asked, response), 50)
  let text = ''
  try {
    for await (const piece of response) text += piece
    return `ends with "${text}", complete ${response.complete}`
  } catch (error) {
    return `throws ${error.code ?? error.message}, complete ${response.complete}`
  } finally {
    server.close()
  }
}

const error = new Error('too slow')
const seen = {
  'no length, request.destroy(error)': await trial('Connection: close', 'half', (asked) => asked.destroy(error)),
  'no length, request.destroy()': await trial('Connection: close', 'half', (asked) => asked.destroy()),
  'no length, response.destroy(error)': await trial('Connection: close', 'half', (_, response) => response.destroy(error)),
  'a length, request.destroy(error)': await trial('Content-Length: 100', 'half', (asked) => asked.destroy(error)),
  'chunks, request.destroy(error)': await trial('Transfer-Encoding: chunked', '4\r\nhalf\r\n', (asked) => asked.destroy(error)),
}
for (const [name, end] of Object.entries(seen)) console.log(`${name}: ${end}`)
const described = [
  'ends with "half", complete true',
  'throws ECONNRESET, complete true',
  'throws too slow, complete true',
  'throws ECONNRESET, complete false',
  'throws ECONNRESET, complete false',
]
process.exitCode = Object.values(seen).every((end, i) => end === described[i]) ? 0 : 1
JS
node_modules/.bin/node trial.mjs

#!/usr/bin/env bash
# Node-RED replaces ${NAME} in a property of a node only where it is the whole value.
#
# One would guess: `${BASE_URL}/events` in a property of a node, such as the URL of an `http request` node, begins with the value of the variable
#   BASE_URL, because `${BASE_URL}` alone is replaced by it, and because a field of the type "env variable" replaces it also in the middle of a text.
# What happens: when the flow is deployed, a property whose whole value is `${NAME}` becomes the value of the variable. Any other text stays as it is
#   written, without a warning, and the node works with the braces in it.
# Consequence: a flow that takes an address from the environment builds its URLs in a `function` node with `env.get('NAME')`, or in a field of the
#   type "env variable".
# Versions: Node-RED 4.1.15, Node.js 20.20. Source: seen by running this; that a property can be set by `${ENV_VAR}` stands in
#   https://nodered.org/docs/user-guide/environment-variables.
# Output seen:
#   property "${WORD}":                           hello
#   property "${WORD} world":                     ${WORD} world
#   field of the type env "${WORD} world":        hello world
# Exits 0 when it happens as described, 1 when that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . node-red@4.1.15 >/dev/null
cat >trial.mjs <<'JS'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const probe = createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address()
await new Promise((done) => probe.close(done))

// One template node for each property, and one inject node whose payload is of the type "env variable".
const texts = ['${WORD}', '${WORD} world']
const inject = (id, wires, more) => ({ id, type: 'inject', z: 'tab', x: 0, y: 0, once: true, onceDelay: 0.1, props: [{ p: 'payload' }], wires: [wires], ...more })
const debug = (id) => ({ id: `${id}-debug`, type: 'debug', z: 'tab', x: 0, y: 0, wires: [], name: id, active: true, tosidebar: false, console: true, complete: 'payload' })
const flow = [
  { id: 'tab', type: 'tab', label: 'trial' },
  ...texts.flatMap((template, n) => [
    inject(`inject${n}`, [`template${n}`], { payload: '', payloadType: 'str' }),
    { id: `template${n}`, type: 'template', z: 'tab', x: 0, y: 0, field: 'payload', fieldType: 'msg', syntax: 'plain', template, output: 'str', wires: [[`said${n}-debug`]] },
    debug(`said${n}`),
  ]),
  inject('inject2', ['said2-debug'], { payload: texts[1], payloadType: 'env' }),
  debug('said2'),
]
writeFileSync('flows.json', JSON.stringify(flow))
const settings = { uiHost: '127.0.0.1', uiPort: port, userDir: process.cwd(), flowFile: 'flows.json', telemetry: { enabled: false, updateNotification: false } }
writeFileSync('settings.js', `module.exports = ${JSON.stringify(settings)}`)
const env = { PATH: process.env.PATH, HOME: process.cwd(), WORD: 'hello' }
const red = spawn(process.execPath, ['node_modules/node-red/red.js', '--settings', 'settings.js'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
const said = {}
for await (const line of createInterface({ input: red.stdout })) {
  const [, id, text] = /\[debug:(said\d)\] (.*)$/.exec(line) ?? []
  if (id) said[id] = text
  if (Object.keys(said).length === 3) break
}
red.kill()
const names = ['property "${WORD}"', 'property "${WORD} world"', 'field of the type env "${WORD} world"']
names.forEach((name, n) => console.log(`${`${name}:`.padEnd(46)}${said[`said${n}`]}`))
process.exitCode = ['hello', texts[1], 'hello world'].every((text, n) => said[`said${n}`] === text) ? 0 : 1
JS
node trial.mjs

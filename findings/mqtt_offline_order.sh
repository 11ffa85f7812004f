#!/usr/bin/env bash
# MQTT.js sends what was published offline in another order: QoS 1 overtakes QoS 0, on one topic too.
#
# One would guess: messages that are published while the client is offline are queued and go out first in, first out when it connects. The
#   documentation of `queueQoSZero` says that they are queued.
# What happens: all messages of QoS 1 go out before all of QoS 0. With `retain` on one topic the older value of QoS 1 comes first, and an older
#   value of QoS 0 that was published before it replaces it: the broker then keeps a state that is out of date.
# Consequence: one topic gets one QoS, and a program publishes its present state anew on `connect`.
# Versions: mqtt 5.16.0 with aedes 1.2.0 (the broker), Node.js 20.20. Source: seen by running this; queueing is described in the README of
#   https://github.com/mqttjs/MQTT.js (`queueQoSZero`).
# Output seen:
#   published: lamp=on (QoS 0), lamp=off (QoS 1)
#   received:  lamp=off, lamp=on
#   retained:  on
# Exits 0 when it happens as described, 1 when that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund mqtt@5.16.0 aedes@1.2.0
cat >trial.mjs <<'JS'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Aedes } from 'aedes'
import mqtt from 'mqtt'

// A port on which nobody listens yet.
const probe = createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address()
await new Promise((done) => probe.close(done))

const client = mqtt.connect({ host: '127.0.0.1', port, reconnectPeriod: 100 })
client.on('error', () => {})
const first = client.publishAsync('lamp', 'on', { qos: 0, retain: true })
const second = client.publishAsync('lamp', 'off', { qos: 1, retain: true })
console.log('published: lamp=on (QoS 0), lamp=off (QoS 1)')

const broker = await Aedes.createBroker()
const received = []
broker.on('publish', ({ topic, payload }) => topic === 'lamp' && received.push(`${topic}=${payload}`))
const server = createServer(broker.handle).listen(port, '127.0.0.1')
await Promise.all([first, second])
await client.endAsync()

const reader = mqtt.connect({ host: '127.0.0.1', port })
const retained = new Promise((resolve) => reader.on('message', (_, payload) => resolve(String(payload))))
await reader.subscribeAsync('lamp')
console.log(`received:  ${received.join(', ')}`)
const kept = await retained
console.log(`retained:  ${kept}`)
await reader.endAsync()
server.close()
broker.close()
process.exitCode = received.join() === 'lamp=off,lamp=on' && kept === 'on' ? 0 : 1
JS
node trial.mjs

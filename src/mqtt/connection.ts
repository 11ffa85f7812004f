// The connection to the MQTT broker. Only this file knows the package `mqtt`.

import mqtt from 'mqtt'
import type { MqttConfig } from '../config/mqtt.ts'
import { credentialPath, readText } from '../kit/files.ts'

/** A message that came from the broker. `isRetained`: the broker had kept it before the subscription. */
export type Incoming = { topic: string; payload: string; isRetained: boolean }

export type Connection = {
  readonly isConnected: boolean
  /** Resolves when the message is in the hands of the socket. Never resolves if the connection ends before. */
  publish(topic: string, payload: string, isRetained: boolean): Promise<void>
  subscribe(topics: readonly string[]): void
  unsubscribe(topics: readonly string[]): void
  /** Ends the connection after the messages that were published before. */
  close(): Promise<void>
}

type Hooks = {
  /** Called at each connection, also a later one. */
  connected(): void
  /** Called when the connection has ended, or could not be made. `reason` is a clause without a secret. */
  away(reason: string): void
  received(message: Incoming): void
}

type Will = { topic: string; payload: string }

const again_ms = 1000
const keepalive_s = 15
const connect_ms = 10_000
const end_ms = 500
/** A longer command is no command. */
const longestPayload = 64 * 1024

/**
 * Connects, and connects again whenever the connection is lost. Nothing is queued while there is none. All messages have QoS 0: the package sends
 * those of QoS 1 and 2 that were kept ahead of newer ones of QoS 0 (mqtt 5.16.0), so an older retained value would win.
 * Rejects where a file of the settings cannot be read.
 */
export async function connect(
  config: MqttConfig,
  { client_id, will }: { client_id: string; will: Will },
  hooks: Hooks,
): Promise<Connection> {
  const [password, ca] = await Promise.all([
    config.password === undefined ? undefined : readText(credentialPath(config.password)),
    config.ca === undefined ? undefined : readText(credentialPath(config.ca)),
  ])
  const client = mqtt.connect(config.url, {
    clientId: client_id,
    ...(config.username !== undefined && { username: config.username }),
    ...(password !== undefined && { password: password.trim() }),
    ...(ca !== undefined && { ca }),
    will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 0, retain: true },
    ...{ reconnectPeriod: again_ms, connectTimeout: connect_ms, keepalive: keepalive_s },
    ...{ queueQoSZero: false, resubscribe: false },
    // Its other timers run in a worker of the browser.
    timerVariant: 'native',
  })
  let failure = ''
  client.on('connect', () => {
    failure = ''
    hooks.connected()
  })
  client.on('error', (error) => {
    failure = reasonOf(error)
  })
  client.on('close', () => hooks.away(failure || 'the connection broke off'))
  client.on('message', (topic, payload, { retain }) => {
    if (payload.length <= longestPayload) hooks.received({ topic, payload: payload.toString('utf8'), isRetained: retain })
  })
  return {
    get isConnected() {
      return client.connected
    },
    publish: (topic, payload, isRetained) =>
      new Promise((resolve) => {
        client.publish(topic, payload, { qos: 0, retain: isRetained }, (error) => {
          if (!error) resolve()
        })
      }),
    subscribe: (topics) => void client.subscribe([...topics], { qos: 0 }),
    unsubscribe: (topics) => void client.unsubscribe([...topics]),
    close: () => ended(client),
  }
}

/** Without an answer of the broker the package may wait for ever for the end (mqtt 5.16.0). */
function ended(client: mqtt.MqttClient): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => client.end(true, () => resolve()), end_ms)
    client.end(false, () => {
      clearTimeout(late)
      resolve()
    })
  })
}

/** Returns the reason in words. Node's error has no message of its own where a name has several addresses. */
function reasonOf(error: Error): string {
  const [first] = error instanceof AggregateError ? error.errors : []
  return first instanceof Error ? first.message : error.message || ('code' in error ? String(error.code) : error.name)
}

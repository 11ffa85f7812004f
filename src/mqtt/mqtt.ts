// Publishes the state of the bench to an MQTT broker, for as long as the service runs: each value of the live state under a topic of its own, which
// the broker keeps. No event, stop or run ever waits for the broker.

import type { MqttStatus } from '../bench/links.ts'
import type { MqttConfig } from '../config/mqtt.ts'
import { messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Hub } from '../events/hub.ts'
import type { Outlet } from '../events/streams.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import { Commands, commandTopics } from './commands.ts'
import { type Connection, connect, type Incoming } from './connection.ts'
import { benchDiscovery, type DiscoveredDevice, discoveryOf, readingsIn } from './discovery.ts'
import { Outbox } from './outbox.ts'
import { availability, type LiveValue, messageOf as messageOfValue, passingTopics, publishedKinds } from './topics.ts'

export type MqttOptions = {
  config: MqttConfig
  system_id: string
  version: string
  /** The address of the page. */
  page: string | undefined
  clock: Clock
  log: Log
  hub: Pick<Hub, 'registerSink' | 'unregisterSink'>
  /** Shows the outlet the live state of these kinds, as `GET /api/live` sends it. Returns the function that ends this. */
  show(outlet: Outlet, kinds: ReadonlySet<string>): () => void
  /** Carries out a request as a client of the service. */
  fetch(request: Request): Response | Promise<Response>
}

/** Readings are kept by name. */
type Discovered = { device?: DiscoveredDevice; readings: Map<string, { path: string; unit: string }>; facts: string }

/** After this time the broker has told all values that it had kept. */
const sweep_ms = 5000
/** The log names an absent broker once in this time. */
const tellAgain_ms = 3_600_000

export class Mqtt {
  readonly #options: MqttOptions
  readonly #topic: string
  readonly #outbox: Outbox
  readonly #commands: Commands | undefined
  /** The facts from which the discovery of each device is made; `facts`: those that were published last, as JSON. */
  readonly #discovered = new Map<string, Discovered>()
  #connection: Connection | undefined
  #hide = () => {}
  #cancelSweep = () => {}
  #failure: string | null = 'the broker was not reached yet'
  #told = { failure: '', at_ms: Number.NEGATIVE_INFINITY }
  #isClosing = false

  /** A broker that does not answer is tried again and again. Where a file of the settings cannot be read, the status and the log say so. */
  static async open(options: MqttOptions): Promise<Mqtt> {
    const opened = new Mqtt(options)
    await opened.#begin().catch((error) => {
      opened.#failure = `${messageOf(error)}; put that right, then restart the service`
      options.log.warn(`mqtt: ${opened.#failure}`)
    })
    return opened
  }

  private constructor(options: MqttOptions) {
    this.#options = options
    const { config, system_id, log, fetch } = options
    this.#topic = config.topic ?? `benchd/${system_id}`
    this.#outbox = new Outbox((topic, payload, isRetained) => this.#connection!.publish(topic, payload, isRetained))
    const answer = (topic: string, payload: string) => this.#outbox.tell(this.#under(topic), payload)
    const warn = (message: string) => log.warn(message)
    this.#commands = config.commands && new Commands({ topic: this.#topic, key: config.commands.key, fetch, answer, warn })
  }

  status(): MqttStatus {
    const { sent, dropped } = this.#outbox
    return {
      url: this.#options.config.url,
      topic: this.#topic,
      is_connected: this.#connection?.isConnected ?? false,
      failure: this.#failure,
      ...{ sent, dropped },
    }
  }

  /** Publishes that the bench is offline, and ends the connection. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#hide()
    this.#cancelSweep()
    this.#options.hub.unregisterSink(this)
    const { topic, offline } = availability
    if (this.#connection?.isConnected) void this.#connection.publish(this.#under(topic), offline, true)
    await this.#connection?.close()
  }

  onEvent(event: RuntimeEvent): void {
    this.#outbox.tell(this.#under(`event/${event.entity_type}/${event.status}`), JSON.stringify(event))
  }

  async #begin(): Promise<void> {
    const { config, system_id, hub, show } = this.#options
    const { topic, online, offline } = availability
    this.#outbox.set(this.#under(topic), online)
    this.#discover(`benchd_${system_id}`, benchDiscovery(this.#bench))
    const place = { client_id: config.client_id ?? `benchd-${system_id}`, will: { topic: this.#under(topic), payload: offline } }
    this.#connection = await connect(config, place, {
      connected: () => this.#connected(),
      away: (reason) => this.#away(reason),
      received: (message) => this.#received(message),
    })
    if (config.events) hub.registerSink(this)
    this.#hide = show({ write: (bytes) => this.#heard(bytes.toString()), onDrain: () => {}, end: () => {} }, publishedKinds)
  }

  #connected(): void {
    const { log, config, clock } = this.#options
    if (this.#told.failure) log.info(`mqtt: connected to ${config.url}`)
    this.#told = { failure: '', at_ms: Number.NEGATIVE_INFINITY }
    this.#failure = null
    if (this.#commands) this.#connection!.subscribe(commandTopics.map((topic) => this.#under(topic)))
    const passing = passingTopics.map((topic) => this.#under(topic))
    this.#connection!.subscribe(passing)
    this.#cancelSweep()
    this.#cancelSweep = clock.after(sweep_ms, () => this.#connection!.unsubscribe(passing))
    this.#outbox.connected()
  }

  #away(reason: string): void {
    const { log, config, clock } = this.#options
    this.#outbox.away()
    if (this.#isClosing) return
    this.#failure = `the broker ${config.url} is away: ${reason}`
    if (this.#told.failure === reason && clock.now() - this.#told.at_ms < tellAgain_ms) return
    this.#told = { failure: reason, at_ms: clock.now() }
    log.warn(`mqtt: ${this.#failure}; the state is published anew when it is back`)
  }

  #received(message: Incoming): void {
    if (this.#commands?.take(message)) return
    // The broker has kept the value of a device, an incident or a run that is there no more.
    if (message.isRetained && message.payload !== '') this.#outbox.sweep(message.topic)
  }

  /** Takes frames of the live state. */
  #heard(text: string): boolean {
    for (const frame of text.split('\n\n')) {
      const [, data] = /^event: state\ndata: (.*)$/s.exec(frame) ?? []
      if (data === undefined) continue
      try {
        this.#changed(JSON.parse(data) as LiveValue)
      } catch (error) {
        this.#options.log.warn(`mqtt: a value is not published: ${messageOf(error)}`)
      }
    }
    return true
  }

  #changed(live: LiveValue): void {
    const { topic, payload } = messageOfValue(live)
    this.#outbox.set(this.#under(topic), payload)
    if (live.kind === 'device' || live.kind === 'reading') this.#rediscover(live)
  }

  /** Publishes the discovery of a device again if one of its facts has changed. Most values of a device are none of them. */
  #rediscover({ kind, id, value }: LiveValue): void {
    const name = `benchd_${this.#options.system_id}_${id}`
    if (kind === 'device' && value === null) {
      this.#discovered.delete(id)
      this.#discover(name, undefined)
      return
    }
    const known = this.#discovered.get(id) ?? { readings: new Map<string, { path: string; unit: string }>(), facts: '' }
    this.#discovered.set(id, known)
    if (kind === 'device') known.device = factsOf(value as unknown as DiscoveredDevice)
    // A reading that is not told for a while stays an entity.
    else if (value) for (const { name, ...its } of readingsIn(value)) known.readings.set(name, its)
    const readings = [...known.readings].map(([reading, its]) => ({ name: reading, ...its }))
    const facts = JSON.stringify([known.device, readings])
    if (!known.device || facts === known.facts) return
    known.facts = facts
    this.#discover(name, discoveryOf(this.#bench, known.device, readings))
  }

  #discover(name: string, message: object | undefined): void {
    const { discovery } = this.#options.config
    if (discovery !== null) this.#outbox.set(`${discovery}/device/${name}/config`, message && JSON.stringify(message))
  }

  get #bench() {
    const { system_id, version, page } = this.#options
    return { system_id, version, url: page, topic: this.#topic, hasCommands: this.#commands !== undefined }
  }

  #under(topic: string): string {
    return `${this.#topic}/${topic}`
  }
}

function factsOf({ device_id, name, type, driver, identity }: DiscoveredDevice): DiscoveredDevice {
  return { device_id, name, type, driver, identity }
}

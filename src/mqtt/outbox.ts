// The messages for the broker: the newest value of each topic, and events while the broker takes them. Memory is bounded by the topics that there are.

/** Sends one message; resolves when the socket has taken it. */
type Publish = (topic: string, payload: string, isRetained: boolean) => Promise<void>

/** More events than this wait for a slow broker: the oldest are dropped. */
const mostEvents = 1000

export class Outbox {
  readonly #publish: Publish
  /** The retained values, by topic. */
  readonly #values = new Map<string, string>()
  /** The topics whose value the broker does not have; in the order in which they changed. */
  readonly #changed = new Set<string>()
  #events: { topic: string; payload: string }[] = []
  /** Counts the connections, so that a loop over a lost one ends. 0 while there is none. */
  #connection = 0
  #connections = 0
  #isSending = false
  sent = 0
  dropped = 0

  constructor(publish: Publish) {
    this.#publish = publish
  }

  /** Sets the value of a topic; undefined removes it, at the broker too. */
  set(topic: string, payload: string | undefined): void {
    if (this.#values.get(topic) === payload) return
    if (payload === undefined) this.#values.delete(topic)
    else this.#values.set(topic, payload)
    this.#changed.add(topic)
    void this.#send()
  }

  /** Sends a message that the broker does not keep. Without a connection it is dropped. */
  tell(topic: string, payload: string): void {
    if (this.#connection === 0 || this.#events.length >= mostEvents) this.dropped++
    if (this.#connection === 0) return
    if (this.#events.length >= mostEvents) this.#events.shift()
    this.#events.push({ topic, payload })
    void this.#send()
  }

  /** Removes what the broker has kept of a topic that is none any more. */
  sweep(topic: string): void {
    if (!this.#values.has(topic)) this.#changed.add(topic)
    void this.#send()
  }

  /** Sends all values: a broker may have lost those that it had. */
  connected(): void {
    this.#connection = ++this.#connections
    this.#isSending = false
    for (const topic of this.#values.keys()) this.#changed.add(topic)
    void this.#send()
  }

  away(): void {
    this.#connection = 0
    this.#isSending = false
    this.#events = []
  }

  async #send(): Promise<void> {
    if (this.#isSending || this.#connection === 0) return
    this.#isSending = true
    const mine = this.#connection
    for (let next = this.#next(); next; next = this.#next()) {
      await this.#publish(...next)
      if (this.#connection !== mine) return
      this.sent++
    }
    this.#isSending = false
  }

  #next(): Parameters<Publish> | undefined {
    for (const topic of this.#changed) {
      this.#changed.delete(topic)
      return [topic, this.#values.get(topic) ?? '', true]
    }
    const event = this.#events.shift()
    return event && [event.topic, event.payload, false]
  }
}

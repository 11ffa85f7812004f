// Publishes the events of one execution: to everybody first, then to its workflow's handlers, so that an effect comes after its cause.

import { messageOf } from '../../errors.ts'
import type { Context, NameParts } from '../../events/event.ts'
import type { Handler } from '../plans/documents.ts'

type BusOptions = {
  /** Hears of every event, under its specific name, which has these parts. */
  forward(eventName: string, context: Context, parts: NameParts): void
  /** A handler has thrown three times running. This is not reported again before it has succeeded. */
  onBroken(name: string, eventName: string, error: unknown): void
  warn(message: string): void
}

type Subscriber = { readonly handler: Handler; readonly name: string; failures: number }

const streak = 3

export class Bus {
  readonly #options: BusOptions
  /** Keyed by the name that was subscribed to: of two or three parts. */
  readonly #subscribers = new Map<string, Subscriber[]>()
  /** Handlers that react to an event by making another go no deeper than this. */
  #depth = 0

  constructor(options: BusOptions) {
    this.#options = options
  }

  /** Calls the handler at each such event, in the order of subscription. `system` is what a bound object gets to see. */
  on(eventName: string, handler: Handler, system: unknown): void {
    if (typeof handler !== 'function') handler.system = system
    const name = typeof handler === 'function' ? handler.name || 'a function' : (handler.constructor?.name ?? 'an object')
    const there = this.#subscribers.get(eventName)
    const subscriber = { handler, name: `${name} on ${eventName}`, failures: 0 }
    if (there) there.push(subscriber)
    else this.#subscribers.set(eventName, [subscriber])
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#subscribers.clear()
  }

  /** Tells everybody, then those of the specific name, then those of the generalized one. No id makes a name of two parts. */
  emit(type: string, id: string, status: string, context: Context): void {
    const eventName = id === '' ? `${type}.${status}` : `${type}.${id}.${status}`
    this.#options.forward(eventName, context, { entity_type: type, entity_id: id, status })
    if (this.#subscribers.size === 0) return
    this.#tell(eventName, context)
    if (id !== '') this.#tell(`${type}.${status}`, context)
  }

  #tell(eventName: string, context: Context): void {
    const subscribers = this.#subscribers.get(eventName)
    if (!subscribers || this.#depth > 8) return
    this.#depth++
    for (const subscriber of subscribers) this.#call(subscriber, eventName, context)
    this.#depth--
  }

  #call(subscriber: Subscriber, eventName: string, context: Context): void {
    const { handler } = subscriber
    try {
      const promised = typeof handler === 'function' ? handler(eventName, context) : handler.handle(eventName, context)
      if (promised instanceof Promise)
        promised.then(
          () => this.#succeeded(subscriber),
          (error) => this.#failed(subscriber, eventName, error),
        )
      else this.#succeeded(subscriber)
    } catch (error) {
      this.#failed(subscriber, eventName, error)
    }
  }

  #succeeded(subscriber: Subscriber): void {
    subscriber.failures = 0
  }

  #failed(subscriber: Subscriber, eventName: string, error: unknown): void {
    subscriber.failures++
    this.#options.warn(`the handler ${subscriber.name} failed: ${messageOf(error)}`)
    if (subscriber.failures === streak) this.#options.onBroken(subscriber.name, eventName, error)
  }
}

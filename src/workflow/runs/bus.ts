// Publishes the events of one run: first to the hub, then to the workflow's handlers, so that an effect comes after its cause.

import { messageOf } from '../../errors.ts'
import type { Context, NameParts } from '../../events/event.ts'
import type { Handler } from '../plans/documents.ts'

type BusOptions = {
  /** Receives every event, with its specific name and the parts of that name. */
  forward(eventName: string, context: Context, parts: NameParts): void
  /** Called when a handler has failed three times in a row; again only after it has succeeded in between. */
  onBroken(name: string, eventName: string, error: unknown): void
  warn(message: string): void
}

type Subscriber = { readonly handler: Handler; readonly name: string; failures: number }

const streak = 3

export class Bus {
  readonly #options: BusOptions
  /** Keyed by the subscribed name, which has two or three parts. */
  readonly #subscribers = new Map<string, Subscriber[]>()
  /** How deep the present event is nested in handlers that emitted another event. */
  #depth = 0

  constructor(options: BusOptions) {
    this.#options = options
  }

  /** Subscribes the handler. Handlers are called in the order of subscription. A handler that is an object gets `system` as a member. */
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

  /** Emits an event: to the hub, to the handlers of its specific name, then to those of its general name. Without an id there is only the general name. */
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

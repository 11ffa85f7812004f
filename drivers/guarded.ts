// Keeps what a driver of the lab's own throws where nobody waits for it, as in a timer or while bytes come in, away from the rest of the service, and
// notices when its code keeps the event loop.

import { performance } from 'node:perf_hooks'
import type { Link } from '../src/devices/device.ts'
import { messageOf } from '../src/errors.ts'
import { onBehalfOf } from '../src/kit/blame.ts'
import type { Clock } from '../src/kit/clock.ts'
import type { Line } from './transports/line.ts'

/** Acts upon a driver of the lab's own that misbehaves. */
export type Guard = {
  /** Called with the milliseconds for which its code kept the event loop. */
  slow(ms: number): void
  /** Called with an error that nobody caught. */
  failed(error: unknown): void
}

/** From here on a turn of the event loop delays a stop. */
const slow_ms = 200

/** A guarded line. `enter` calls code of the driver. `fail` ends what the device does, as the loss of the line does. */
export type Guarded = { line: Line; clock: Clock; enter<Value>(call: () => Value): Value; fail(error: unknown): void }

export function guarded(line: Line, clock: Clock, guard: Guard): Guarded {
  const lost: ((reason: string) => void)[] = []
  const fail = (error: unknown) => {
    const reason = `its driver failed (${messageOf(error)}); look for the mistake in the driver`
    void line.close().catch(() => undefined)
    for (const call of lost) call(reason)
  }
  const turns = new Turns(guard)
  const owner = {
    fault(error: unknown) {
      guard.failed(error)
      fail(error)
    },
  }
  const enter = <Value>(call: () => Value): Value => {
    turns.begin()
    return onBehalfOf(owner, call)
  }
  const caught = <Given extends unknown[]>(call: (...given: Given) => void) => {
    return (...given: Given) => {
      try {
        enter(() => call(...given))
      } catch (error) {
        fail(error)
      }
    }
  }
  const timed = (of: Clock): Clock => ({ now: () => of.now(), after: (ms, call) => of.after(ms, caught(call)) })
  const around: Partial<Line> = {
    onBytes: (listen) => line.onBytes(caught(listen)),
    onLost(call: (reason: string) => void) {
      lost.push(call)
      line.onLost(call)
    },
    clock: timed(line.clock),
    ...(line.pacing && { pacing: timed(line.pacing) }),
  }
  return { line: over(line, around), clock: timed(clock), enter, fail }
}

/** Returns the same with some of its members replaced. */
function over<Whole extends Link>(whole: Whole, parts: Partial<Whole>): Whole {
  return new Proxy(whole, {
    get(target, name) {
      if (Object.hasOwn(parts, name)) return parts[name as keyof Whole]
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Measures turns of the event loop that begin with the code of a driver. Other code of the same turn counts, too. */
class Turns {
  readonly #guard: Guard
  #began: number | undefined

  constructor(guard: Guard) {
    this.#guard = guard
  }

  begin(): void {
    if (this.#began !== undefined) return
    this.#began = performance.now()
    setImmediate(() => {
      const ms = performance.now() - this.#began!
      this.#began = undefined
      if (ms >= slow_ms) this.#guard.slow(ms)
    })
  }
}

// For tests: an instrument between which and its port somebody sits who changes what it says, speaks for it, or pulls its plug.

import type { Driver } from '../../../drivers/driver.ts'
import type { Simulator } from '../../../drivers/transports/simulator.ts'

type Send = (bytes: Uint8Array) => void

export type Hand = {
  /** Decides about all bytes that the instrument sends from now on. */
  change(pass: (bytes: Uint8Array, send: Send) => void): void
  /** Puts other text in place of what matches in what the instrument sends from now on. */
  replace(pattern: RegExp, text: string): void
  /** Nothing that either says arrives, and the port stays open. */
  cut(): void
  /** From now on the instrument hears only frames that it has heard before. */
  deafen(): void
  /** Decides which frames of the host, as latin1 text, it hears from now on. */
  hear(hears: (frame: string) => boolean): void
  /** Leaves the line alone: the instrument hears the host, and the host the instrument. */
  leave(): void
  /** Says something in its place. */
  say(bytes: Uint8Array): void
  /** Takes its power away and gives it back: it knows nothing of what was before, and says nothing of that. */
  restart(): void
  /** The frames at which it began to move or to heat, as latin1 text. */
  readonly stirredBy: readonly string[]
}

/** Returns the same driver, with a hand on the one instrument that it simulates. */
export function tampered<Settings>(driver: Driver<Settings>): { driver: Driver<Settings>; hand: Hand } {
  const unchanged = (bytes: Uint8Array, send: Send) => send(bytes)
  const stirredBy: string[] = []
  let pass = unchanged
  let isCut = false
  let isDeaf = false
  let hears: (frame: string) => boolean = () => true
  const heard = new Set<string>()
  let send: Send = () => {}
  let restart = () => {}

  function simulate(at: Parameters<Driver<Settings>['simulate']>[0]): Simulator {
    send = at.send
    let power = 0
    const switchOn = () => {
      const its = ++power
      return driver.simulate({ ...at, send: (bytes) => its === power && !isCut && pass(bytes, at.send) })
    }
    let on = switchOn()
    let last = { frame: '', ...on.world }
    /** Notes the last frame where motion or heat began since then. */
    const look = () => {
      const { moving, heating } = on.world
      if ((moving && !last.moving) || (heating && !last.heating)) stirredBy.push(last.frame)
      last = { ...last, moving, heating }
    }
    restart = () => {
      on.powerOff()
      on = switchOn()
    }
    return {
      receive(bytes) {
        const frame = Buffer.from(bytes).toString('latin1')
        if (isCut || (isDeaf && !heard.has(frame)) || !hears(frame)) return
        heard.add(frame)
        look()
        last.frame = frame
        on.receive(bytes)
        look()
      },
      setFault: (fault, present) => on.setFault(fault, present),
      powerOff: () => on.powerOff(),
      get world() {
        return on.world
      },
    }
  }

  const hand: Hand = {
    change(how) {
      pass = how
    },
    replace: (pattern, text) => hand.change((bytes, send) => send(Buffer.from(Buffer.from(bytes).toString().replace(pattern, text)))),
    cut() {
      isCut = true
    },
    deafen() {
      isDeaf = true
    },
    hear(which) {
      hears = which
    },
    leave() {
      pass = unchanged
      isCut = false
      isDeaf = false
      hears = () => true
    },
    say: (bytes) => send(bytes),
    restart: () => restart(),
    stirredBy,
  }
  return { driver: { ...driver, simulate }, hand }
}

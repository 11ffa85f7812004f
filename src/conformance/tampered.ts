// A simulated instrument whose line can be tampered with: answers are changed, forged or lost, or the power is cut.

import type { Driver, LineDriver } from '../../drivers/driver.ts'
import type { InstrumentEnd, Simulator } from '../../drivers/transports/simulator.ts'

type Send = (bytes: Uint8Array) => void

export type Hand = {
  /** Passes all bytes that the instrument sends from now on to `pass`. */
  change(pass: (bytes: Uint8Array, send: Send) => void): void
  /** Replaces matching text in what the instrument sends from now on. */
  replace(pattern: RegExp, text: string): void
  /** Loses all bytes in both directions, while the port stays open. */
  cut(): void
  /** Delivers only frames that the instrument has received before. */
  deafen(): void
  /** Delivers only the frames of the host (latin1 text) for which `hears` returns true. */
  hear(hears: (frame: string) => boolean): void
  /** Restores the line in both directions. */
  leave(): void
  /** Sends bytes to the host in place of the instrument, on every connection. */
  say(bytes: Uint8Array): void
  /** Cycles the power: the instrument forgets everything, and does not report it. */
  restart(): void
  /** The frames that made it move or heat, as latin1 text. */
  readonly stirredBy: readonly string[]
}

type Tampering = { pass(bytes: Uint8Array, send: Send): void; isCut: boolean; isDeaf: boolean; hears(frame: string): boolean }

/** Returns how a line is that nobody tampers with. */
function intact(): Tampering {
  return { pass: (bytes, send) => send(bytes), isCut: false, isDeaf: false, hears: () => true }
}

/** Returns the same driver, and the hand that tampers with its one simulated instrument. */
export function tampered<Settings>(driver: Driver<Settings>): { driver: Driver<Settings>; hand: Hand }
export function tampered<Settings>(driver: LineDriver<Settings>): { driver: LineDriver<Settings>; hand: Hand }
export function tampered<Settings>(driver: LineDriver<Settings>): { driver: LineDriver<Settings>; hand: Hand } {
  const stirredBy: string[] = []
  const line = intact()
  const heard = new Set<string>()
  /** Sends bytes to the host on every connection. */
  let send: Send = () => {}
  let restart = () => {}

  function simulate(at: InstrumentEnd<Settings>): Simulator {
    const connections = new Set([0])
    send = (bytes) => {
      for (const connection of connections) at.send(bytes, connection)
    }
    let power = 0
    const switchOn = () => {
      const its = ++power
      return driver.simulate({
        ...at,
        send: (bytes, connection) => its === power && !line.isCut && line.pass(bytes, (passed) => at.send(passed, connection)),
      })
    }
    let on = switchOn()
    let last = { frame: '', ...on.world }
    /** Records the last frame if motion or heat began since the last look. */
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
      receive(bytes, connection = 0) {
        connections.add(connection)
        const frame = Buffer.from(bytes).toString('latin1')
        if (line.isCut || (line.isDeaf && !heard.has(frame)) || !line.hears(frame)) return
        heard.add(frame)
        look()
        last.frame = frame
        on.receive(bytes, connection)
        look()
      },
      setFault: (fault, present) => on.setFault(fault, present),
      powerOff: () => on.powerOff(),
      get places() {
        return on.places
      },
      get world() {
        return on.world
      },
    }
  }

  const hand: Hand = {
    change: (pass) => void Object.assign(line, { pass }),
    replace: (pattern, text) => hand.change((bytes, send) => send(Buffer.from(Buffer.from(bytes).toString().replace(pattern, text)))),
    cut: () => void Object.assign(line, { isCut: true }),
    deafen: () => void Object.assign(line, { isDeaf: true }),
    hear: (hears) => void Object.assign(line, { hears }),
    leave: () => void Object.assign(line, intact()),
    say: (bytes) => send(bytes),
    restart: () => restart(),
    stirredBy,
  }
  return { driver: { ...driver, simulate }, hand }
}

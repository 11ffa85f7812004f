// A line to a listening program: on a Unix socket, or on a port of this computer or of a trusted network.

import type { Socket } from 'node:net'
import { LabError } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { connected, onEnd } from './connected.ts'
import type { BridgeLine } from './line.ts'
import { RealLine } from './real_line.ts'

export type SocketPlace = { path: string } | { host: string; port: number }

/** Advice for people when the program was lost, and when nobody listens. */
type SocketAdvice = { lost: string; unreachable: string }

/** Makes the line. Its `open` rejects with `disconnected` if nobody listens. */
export function socketLine(place: SocketPlace, advice: SocketAdvice, clock: Clock = systemClock): BridgeLine {
  return new SocketLine(place, advice, clock)
}

class SocketLine extends RealLine<Socket> implements BridgeLine {
  readonly advice: string
  readonly #unreachable: string
  readonly #place: SocketPlace

  constructor(place: SocketPlace, { lost, unreachable }: SocketAdvice, clock: Clock) {
    super('path' in place ? place.path : `${place.host}:${place.port}`, clock)
    this.advice = lost
    this.#unreachable = unreachable
    this.#place = place
  }

  write(bytes: Uint8Array): void {
    this.pour(this.connection, bytes, { reason: `the program at ${this.name} reads nothing any more`, advice: this.advice })
  }

  protected connect(): Promise<Socket> {
    return connected(this.#place, this.clock).catch(({ message }: Error) => {
      throw new LabError('disconnected', `the program at ${this.name} cannot be reached: ${message}; ${this.#unreachable}`)
    })
  }

  protected begin(socket: Socket): void {
    socket.on('data', (bytes: Buffer) => this.came(socket, bytes))
    onEnd(socket, 'it', (said) => this.loseIf(socket, said))
  }

  protected async end(socket: Socket, isLost: boolean): Promise<void> {
    socket.on('error', () => undefined)
    if (isLost) socket.destroy()
    else socket.destroySoon()
  }
}

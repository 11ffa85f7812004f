// A line to a program that listens: on a Unix socket, or on a port of this computer or of a network that is trusted.

import { connect, type Socket } from 'node:net'
import { LabError } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import type { BridgeLine } from './line.ts'
import { RealLine } from './real_line.ts'

export type SocketPlace = { path: string } | { host: string; port: number }

/** Advice for people: when the program was lost, and when nobody listens there. */
type SocketAdvice = { lost: string; unreachable: string }

/** Rejects with `disconnected` when nobody listens there. */
export function socketLine(place: SocketPlace, advice: SocketAdvice, clock: Clock = systemClock): BridgeLine {
  return new SocketLine(place, advice, clock)
}

const connecting_ms = 3000

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

  /** The kernel takes all of it before this returns, or the connection is given up. */
  write(bytes: Uint8Array): void {
    const socket = this.connection
    socket.write(bytes)
    if (socket.writableLength > 0 || socket.destroyed) {
      const reason = `the program at ${this.name} reads nothing any more`
      this.lose(reason)
      throw new LabError('disconnected', `${reason}; ${this.advice}`)
    }
    this.show('to_device', bytes)
  }

  async setBaud(): Promise<void> {}

  async setModem(): Promise<boolean> {
    return false
  }

  protected connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#place)
      const fail = ({ message }: Error) => {
        cancel()
        socket.destroy()
        reject(new LabError('disconnected', `the program at ${this.name} cannot be reached: ${message}; ${this.#unreachable}`))
      }
      const cancel = this.clock.after(connecting_ms, () => fail(new Error(`no connection within ${connecting_ms / 1000} s`)))
      socket.once('error', fail)
      socket.once('connect', () => {
        cancel()
        socket.off('error', fail)
        resolve(socket)
      })
    })
  }

  protected begin(socket: Socket): void {
    socket.on('data', (bytes: Buffer) => this.came(socket, bytes))
    socket.on('end', () => this.loseIf(socket, 'it closed the connection'))
    socket.on('error', (error) => this.loseIf(socket, error.message))
    socket.on('close', () => this.loseIf(socket, 'the connection was closed'))
    if (socket.destroyed) this.loseIf(socket, 'the connection was closed')
  }

  protected async end(socket: Socket, isLost: boolean): Promise<void> {
    socket.on('error', () => undefined)
    if (isLost) socket.destroy()
    else socket.destroySoon()
  }
}

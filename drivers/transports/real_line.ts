// The base class of serial ports and network connections: a line that is opened by one caller at a time, may be closed while it
// is being opened, may be lost at any moment, and whose traffic can be watched.

import type { Writable } from 'node:stream'
import { notOpen } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Line, OnWire } from './line.ts'

/** A `Connection` is used once; reopening makes another. */
export abstract class RealLine<Connection> implements Line {
  readonly clock: Clock
  /** A path or `host:port`, with which sentences about the line begin. */
  protected readonly name: string
  readonly #lost: ((reason: string) => void)[] = []
  readonly #closed: (() => void)[] = []
  readonly #watchers: OnWire[] = []
  #connection: Connection | undefined
  #state: Line['state'] = 'closed'
  #opening: Promise<void> | undefined
  /** Settles when the previous connection is closed. */
  #released: Promise<void> = Promise.resolve()
  #turn = 0
  #listener: (bytes: Uint8Array) => void = () => {}

  constructor(name: string, clock: Clock) {
    this.name = name
    this.clock = clock
  }

  abstract write(bytes: Uint8Array): void

  /** Does nothing by default, for lines without a baud rate. */
  async setBaud(_baud: number): Promise<void> {}

  /** Sets nothing by default, for lines without modem lines. */
  async setModem(_lines: { rts?: boolean; dtr?: boolean }): Promise<boolean> {
    return false
  }

  /** Opens a connection. Rejects with `disconnected`. */
  protected abstract connect(): Promise<Connection>
  /** Called with the connection that is in use from now on. */
  protected abstract begin(connection: Connection): void
  /** Closes a connection. Waiting bytes of a lost one are discarded, since half a frame is useless. Must not reject. */
  protected abstract end(connection: Connection, isLost: boolean): Promise<void>

  get state(): Line['state'] {
    return this.#state
  }

  open(): Promise<void> {
    this.#opening ??= this.#openAnew().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async close(): Promise<void> {
    this.#turn++
    this.#letGo('closed')
    for (const call of this.#closed) call()
    await this.#opening?.catch(() => undefined)
    await this.#released
  }

  onBytes(listen: (bytes: Uint8Array) => void): void {
    this.#listener = listen
  }

  onWire(watch: OnWire): void {
    this.#watchers.push(watch)
  }

  onLost(call: (reason: string) => void): void {
    this.#lost.push(call)
  }

  onClosed(call: () => void): void {
    this.#closed.push(call)
  }

  /** The connection in use. Throws `disconnected` without one. */
  protected get connection(): Connection {
    if (this.#connection === undefined) throw notOpen(this.name)
    return this.#connection
  }

  protected isUsed(connection: Connection): boolean {
    return this.#connection === connection
  }

  /** Called with bytes from a connection. */
  protected came(connection: Connection, bytes: Uint8Array): void {
    if (!this.isUsed(connection)) return
    this.show('to_host', bytes)
    this.#listener(bytes)
  }

  /** Writes to a stream. Either the kernel takes all bytes before this returns, or the line is lost and the rest is never sent. */
  protected pour(stream: Writable, bytes: Uint8Array, { reason, advice }: { reason: string; advice: string }): void {
    stream.write(bytes)
    if (stream.writableLength > 0 || stream.destroyed) {
      this.lose(reason)
      throw new LabError('disconnected', `${reason}; ${advice}`)
    }
    this.show('to_device', bytes)
  }

  protected show(direction: Parameters<OnWire>[0], bytes: Uint8Array): void {
    for (const watch of this.#watchers) watch(direction, bytes)
  }

  /** Loses the line, unless another connection is in use meanwhile. */
  protected loseIf(connection: Connection, said: string): void {
    if (this.isUsed(connection)) this.lose(`${this.name} was disconnected (${said})`)
  }

  protected lose(reason: string): void {
    this.#letGo('lost')
    for (const call of this.#lost) call(reason)
  }

  /** Loses the line if it is open. Resolves when the connection is closed. */
  async giveUp(reason: string): Promise<void> {
    if (this.#state === 'open') this.lose(reason)
    await this.#released
  }

  async #openAnew(): Promise<void> {
    const turn = this.#turn
    if (this.#state === 'open') this.#letGo('closed')
    await this.#released
    const connection = await this.connect()
    if (turn !== this.#turn) {
      await this.end(connection, false)
      throw new LabError('disconnected', `${this.name} was closed while it was being opened`)
    }
    this.#connection = connection
    this.#state = 'open'
    this.begin(connection)
  }

  #letGo(state: 'closed' | 'lost'): void {
    const connection = this.#connection
    this.#state = state
    this.#connection = undefined
    if (connection !== undefined) this.#released = this.end(connection, state === 'lost')
  }
}

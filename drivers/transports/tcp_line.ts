// A line on the network, as raw TCP: to a serial box (ser2net, Moxa), which has settings of its serial port, or to an instrument that is on the network itself.

import type { Socket } from 'node:net'
import { LabError } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { connected, onEnd } from './connected.ts'
import type { LosableLine } from './joined_lines.ts'
import type { SerialSettings } from './line.ts'
import { RealLine } from './real_line.ts'

type TcpPlace = { host: string; port: number }

/** `serial` is what a serial box at the place has to be set to; without it the instrument itself is there. */
type TcpOptions = TcpPlace & { serial?: SerialSettings | undefined; clock?: Clock }

/** Makes a line to the instrument at `host`:`port`, where a serial box or the instrument itself listens. Its `open` rejects with `disconnected`. */
export function tcpLine(options: TcpOptions): LosableLine {
  return new TcpLine(options)
}

/** Returns the required settings of a serial box, which cannot be set from here: `the box at … must have raw TCP, 9600 baud, 8 data bits, …`. */
export function boxWords({ host, port }: TcpPlace, { baud, data_bits = 8, parity = 'none', stop_bits = 1 }: SerialSettings): string {
  const words = [
    'raw TCP',
    `${baud} baud`,
    `${data_bits} data bits`,
    `${parity === 'none' ? 'no' : parity} parity`,
    stop_bits === 1 ? '1 stop bit' : `${stop_bits} stop bits`,
  ]
  return `the box at ${host}:${port} must have ${words.join(', ')} and no flow control`
}

/** The idle time after which the kernel probes the connection. */
const keepAlive_ms = 5000
/**
 * The time without a byte after a write that makes a connection count as dead, whatever TCP reports: only answers of the instrument
 * count. It is longer than any instrument takes for one answer.
 */
const silent_ms = 40_000
/** The time within which a box that refuses a client closes the connection, after a line with the reason. */
const refusal_ms = 1000
const mostQuoted = 60

/** The words about a listener: who it is, what a person sees to when it is lost or silent, and what makes it close a new connection at once. */
type Listener = { who: string; advice: string; isOn: string; refuses: string }

const box: Listener = {
  who: 'the box',
  advice: 'see the box and its network, and that no other client is connected to it',
  isOn: 'see that the box is switched on and on the network',
  refuses: 'see that no other client is connected to it, and that its serial port is there',
}
const instrument: Listener = {
  who: 'the instrument',
  advice: 'see that the instrument is switched on, its network cable, and that no other client is connected to it',
  isOn: 'see that the instrument is switched on, its network cable, and its address in the configuration',
  refuses: 'see that no other client is connected to it',
}

/** The beginning of ser2net's message before it closes a connection, which is not an answer of the instrument. */
const refusalWords = /^(Port already in use|Device open failure)/

class TcpLine extends RealLine<Socket> {
  readonly advice: string
  readonly isNetwork: boolean
  readonly #listener: Listener
  readonly #at: TcpPlace
  readonly #serial: SerialSettings | undefined
  /** Cancels the timer of silence, which runs from the first write without a byte after it. */
  #cancelSilence: (() => void) | undefined
  /** Whether the box closed the last connection at once, so that the next one counts as open only after a while. */
  #wasRefused = false

  constructor({ host, port, serial, clock = systemClock }: TcpOptions) {
    super(`${host}:${port}`, clock)
    this.#listener = serial ? box : instrument
    this.isNetwork = serial === undefined
    this.advice = this.#listener.advice
    this.#at = { host, port }
    this.#serial = serial
  }

  write(bytes: Uint8Array): void {
    const socket = this.connection
    const advice = this.#listener.isOn
    // A copy, because bytes that the kernel does not take at once stay in the socket.
    this.pour(socket, Uint8Array.from(bytes), { reason: `${this.name} took no more bytes`, advice })
    this.#cancelSilence ??= this.clock.after(silent_ms, () => this.loseIf(socket, `nothing came for ${silent_ms / 1000} s`))
  }

  /** Rejects with `device_failed` for another speed than the configured one, which only the box could change. */
  override async setBaud(baud: number): Promise<void> {
    if (baud === this.#serial?.baud) return
    throw new LabError('device_failed', `${this.name} cannot be set to ${baud} baud: the speed is the box's; use a serial port`)
  }

  protected async connect(): Promise<Socket> {
    const place = { ...this.#at, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAlive_ms }
    const socket = await connected(place, this.clock).catch((error: NodeJS.ErrnoException) => {
      throw whyNotConnected(this.name, this.#listener, error)
    })
    const refusal = this.#wasRefused ? await refusalOn(socket, this.#listener, this.clock) : undefined
    this.#wasRefused = refusal !== undefined
    if (refusal !== undefined) throw new LabError('disconnected', `${this.name} ${refusal}`)
    return socket
  }

  protected begin(socket: Socket): void {
    const refusalOf = watchForRefusal(socket, this.#listener, this.clock)
    socket.on('data', (bytes: Buffer) => {
      if (this.isUsed(socket)) this.#heard()
      if (this.isNetwork || !refusalWords.test(bytes.toString('latin1'))) this.came(socket, bytes)
    })
    onEnd(socket, this.#listener.who, (said) => {
      const refusal = refusalOf()
      if (this.isUsed(socket)) this.#wasRefused = refusal !== undefined
      this.loseIf(socket, refusal === undefined ? said : `${this.#listener.who} ${refusal}`)
    })
  }

  /** Resets a lost connection, so that no waiting byte is delivered. A closed one sends its bytes. */
  protected async end(socket: Socket, isLost: boolean): Promise<void> {
    this.#heard()
    socket.on('error', () => undefined)
    if (isLost) socket.resetAndDestroy()
    else socket.destroySoon()
  }

  #heard(): void {
    this.#cancelSilence?.()
    this.#cancelSilence = undefined
  }
}

/** Listens to a new connection. The returned function gives the refusal of the box; undefined if the connection was reset, or lasted too long for a refusal. */
function watchForRefusal(socket: Socket, listener: Listener, clock: Clock): () => string | undefined {
  const oldAt = clock.now() + refusal_ms
  let said = ''
  let isEnded = false
  socket.prependOnceListener('end', () => {
    isEnded = clock.now() <= oldAt
  })
  socket.on('data', function listen(bytes: Buffer) {
    if (clock.now() > oldAt || said.length >= mostQuoted) socket.off('data', listen)
    else said += bytes.toString('latin1')
  })
  return () => (isEnded ? refusalIn(said, listener) : undefined)
}

function refusalIn(said: string, listener: Listener): string {
  const words = said.trim().slice(0, mostQuoted)
  const quoted = words && ` and said ${JSON.stringify(words)}`
  if (/in use/i.test(said)) return `is in use by another client: it closed the connection at once${quoted}; end the other program`
  return `closed the connection at once${quoted}; ${listener.refuses}`
}

/** Waits until the box has closed a new connection, or has left it open for a while. Bytes meanwhile are discarded. */
function refusalOn(socket: Socket, listener: Listener, clock: Clock): Promise<string | undefined> {
  const refusalOf = watchForRefusal(socket, listener, clock)
  return new Promise((resolve) => {
    const cancel = clock.after(refusal_ms, () => resolve(undefined))
    onEnd(socket, listener.who, () => {
      cancel()
      resolve(refusalOf())
    })
  })
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'refuses the connection; see its port, and that no other program is connected to it',
  ECONNRESET: 'closed the connection at once; see that no other program is connected to it',
  ETIMEDOUT: 'does not answer',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached; see the network of this computer',
  ENOTFOUND: 'is not known by that name; see the host in the configuration',
  EAI_AGAIN: 'cannot be looked up; see the network of this computer, or give its address',
}

function whyNotConnected(name: string, listener: Listener, error: NodeJS.ErrnoException): LabError {
  const reason = reasons[error.code ?? ''] ?? `cannot be connected: ${error.message}`
  const words = reason.includes('; see ') ? reason : `${reason}; ${listener.isOn}`
  return new LabError('disconnected', `${name} ${words}`, { cause: error })
}

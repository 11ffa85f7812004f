// An I2C bus for parts: one transfer at a time, in order. Reads are tried again, writes never are.
// `i2c_bus.ts` opens a real one, `simulated_i2c.ts` a simulated one.

import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, sleep, systemClock } from '../../src/kit/clock.ts'
import { patient } from '../../src/kit/patient.ts'
import { SerialQueue } from '../../src/kit/serial_queue.ts'

/** A transfer, named as in SMBus; only `receive` is plain I2C. A word has its low byte first on the wire. */
export type Transfer = Read | Write
export type Read =
  | { verb: 'receive_byte' }
  | { verb: 'receive'; length: number }
  | { verb: 'read_byte' | 'read_word'; register: number }
  | { verb: 'read_block'; register: number; length: number }
export type Write =
  | { verb: 'send_byte'; value: number }
  | { verb: 'write_byte' | 'write_word'; register: number; value: number }
  | { verb: 'write_block'; register: number; bytes: Uint8Array }

/** Carries out transfers. Rejects with the system's error, which has an `errno`. */
export interface I2cPort {
  /** Resolves with the bytes that were read, none for a write. Does not block the event loop. */
  transfer(address: number, transfer: Transfer): Promise<Uint8Array>
  /** Writes before it returns. */
  writeNow(address: number, write: Write): void
  close(): Promise<void>
}

/** Called with the host's bytes before each transfer, and for a read again with the answer. */
type OnTransfer = (address: number, written: Uint8Array, read: Uint8Array | undefined, reading: boolean) => void

/** The time limit of a call, including the wait for its turn. */
const deadline_ms = 2000
const readTries = 3
const pause_ms = 10
const mostWaiting = 64

export class I2cBus {
  /** The name of the bus in messages: `I2C bus 1`. */
  readonly name: string
  readonly clock: Clock
  readonly #open: () => Promise<I2cPort>
  readonly #queue = new SerialQueue(mostWaiting)
  #port: Promise<I2cPort> | undefined
  /** The open port, kept because a stop cannot wait for a promise. */
  #ready: I2cPort | undefined
  #underWay: Promise<unknown> = Promise.resolve()

  /** `open` is called for the first transfer, and again after a `close`. */
  constructor(name: string, open: () => Promise<I2cPort>, clock: Clock = systemClock) {
    this.name = name
    this.#open = open
    this.clock = clock
  }

  device(address: number, watch: OnTransfer = () => {}): I2cDevice {
    return new I2cDevice(this, address, watch)
  }

  /** Resolves with the port open; rejects with `disconnected` when there is none. */
  async open(): Promise<void> {
    await this.#opened()
  }

  async close(): Promise<void> {
    const port = this.#port
    this.#port = undefined
    this.#ready = undefined
    await (await port?.catch(() => undefined))?.close()
  }

  /** Does the work while nothing else uses the bus. Rejects with `no_reply` if it takes too long. */
  together<T>(work: (transfer: (address: number, transfer: Transfer) => Promise<Uint8Array>) => Promise<T>): Promise<T> {
    const done = this.#queue.run(async () => {
      const port = await this.#opened()
      return work((address, transfer) => this.#tried(port, address, transfer))
    })
    return this.#inTime(done)
  }

  /** Writes before it returns, and once more, computed anew, after a transfer that was under way. */
  writeNow(address: number, write: () => Write): Promise<void> {
    const port = this.#ready
    if (!port) {
      // The stop is repeated until it is acknowledged; no other caller may open the bus meanwhile.
      this.open().catch(() => undefined)
      throw new LabError('stop_not_sent', `the stop could not be sent: ${this.name} is not open`)
    }
    const now = () => {
      try {
        port.writeNow(address, write())
      } catch (error) {
        if (isGone(error)) this.#drop(port)
        throw new LabError('stop_not_sent', `the stop could not be sent: ${this.#wordsFor(error, address).message}`, { cause: error })
      }
    }
    now()
    const before = this.#underWay
    return before.then(now, now)
  }

  #opened(): Promise<I2cPort> {
    this.#port ??= this.#open().then(
      (port) => {
        this.#ready = port
        return port
      },
      (error) => {
        this.#port = undefined
        throw error
      },
    )
    return this.#port
  }

  /** Tries a read three times, because a long wire or a busy part sometimes loses one. */
  async #tried(port: I2cPort, address: number, transfer: Transfer): Promise<Uint8Array> {
    const tries = isRead(transfer) ? readTries : 1
    for (let left = tries - 1; ; left--) {
      try {
        const under = port.transfer(address, transfer)
        this.#underWay = under
        return await under
      } catch (error) {
        if (isGone(error)) this.#drop(port)
        if (left === 0 || isGone(error)) throw this.#wordsFor(error, address)
      }
      await sleep(this.clock, pause_ms)
    }
  }

  /** Closes the port of an unplugged adapter, whose files stay dead for as long as they are open. */
  #drop(port: I2cPort): void {
    if (this.#ready === port) void this.close().catch(() => undefined)
  }

  #inTime<T>(done: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = patient(this.clock).after(deadline_ms, () =>
        reject(new LabError('no_reply', `${this.name} did not come to an end within ${deadline_ms / 1000} s; see what holds its wires`)),
      )
      done.finally(cancel).then(resolve, reject)
    })
  }

  #wordsFor(error: unknown, address: number): LabError {
    if (error instanceof LabError) return error
    const part = `0x${address.toString(16)} on ${this.name}`
    const [code, sentence] = (meanings[errnoOf(error)] ?? other)(part, messageOf(error))
    return new LabError(code, sentence, { cause: error })
  }
}

/** A part on a bus, with the verbs of SMBus; `together` has the others. */
export class I2cDevice {
  readonly bus: I2cBus
  readonly address: number
  readonly #watch: OnTransfer

  constructor(bus: I2cBus, address: number, watch: OnTransfer) {
    this.bus = bus
    this.address = address
    this.#watch = watch
  }

  /** The name in messages: `0x48 on I2C bus 1`. */
  get name(): string {
    return `0x${this.address.toString(16)} on ${this.bus.name}`
  }

  receiveByte(): Promise<number> {
    return this.together((part) => part.receiveByte())
  }

  /** Reads by plain I2C, which an SMBus-only adapter cannot do. */
  receive(length: number): Promise<Uint8Array> {
    return this.together((part) => part.receive(length))
  }

  readByte(register: number): Promise<number> {
    return this.together((part) => part.readByte(register))
  }

  /** Reads a word, low byte first as in SMBus. Most parts use the other order: see `readSwapped`. */
  readWord(register: number): Promise<number> {
    return this.together((part) => part.readWord(register))
  }

  sendByte(value: number): Promise<void> {
    return this.together((part) => part.write({ verb: 'send_byte', value }))
  }

  writeByte(register: number, value: number): Promise<void> {
    return this.together((part) => part.write({ verb: 'write_byte', register, value }))
  }

  /** Does several transfers without others in between. Compute written values inside `work`, so that they are not older than a stop. */
  together<T>(work: (part: Verbs) => Promise<T>): Promise<T> {
    return this.bus.together((transfer) =>
      work(
        verbs(async (what) => {
          const written = wireOf(what).written
          const reading = isRead(what)
          this.#watch(this.address, written, undefined, reading)
          const read = await transfer(this.address, what)
          if (reading) this.#watch(this.address, written, read, reading)
          return read
        }),
      ),
    )
  }

  /**
   * Writes before it returns, ahead of waiting calls. If a transfer was under way, `write` is computed and written again after it;
   * the promise resolves then. Throws `stop_not_sent`. It blocks the event loop for the time of the transfer, so use it only for a stop.
   */
  writeNow(write: () => Write): Promise<void> {
    this.#watch(this.address, wireOf(write()).written, undefined, false)
    return this.bus.writeNow(this.address, write)
  }
}

/** The verbs inside `together`. */
type Verbs = ReturnType<typeof verbs>

function verbs(transfer: (what: Transfer) => Promise<Uint8Array>) {
  const word = (bytes: Uint8Array) => bytes[0]! | (bytes[1]! << 8)
  return {
    receiveByte: async () => (await transfer({ verb: 'receive_byte' }))[0]!,
    receive: (length: number) => transfer({ verb: 'receive', length }),
    readByte: async (register: number) => (await transfer({ verb: 'read_byte', register }))[0]!,
    readWord: async (register: number) => word(await transfer({ verb: 'read_word', register })),
    readBlock: (register: number, length: number) => transfer({ verb: 'read_block', register, length }),
    write: async (write: Write) => {
      await transfer(write)
    },
  }
}

/** Reads a word that a part sends high byte first. */
export async function readSwapped(part: Pick<I2cDevice, 'readWord'>, register: number): Promise<number> {
  return swapped(await part.readWord(register))
}

/** Swaps the bytes of a word. */
export function swapped(word: number): number {
  return ((word & 0xff) << 8) | (word >> 8)
}

/** Returns the bytes that the host writes, and the number of bytes that it then reads. */
export function wireOf(transfer: Transfer): { written: Uint8Array; length: number } {
  switch (transfer.verb) {
    case 'receive_byte':
      return { written: new Uint8Array(), length: 1 }
    case 'receive':
      return { written: new Uint8Array(), length: transfer.length }
    case 'read_byte':
      return { written: Uint8Array.of(transfer.register), length: 1 }
    case 'read_word':
      return { written: Uint8Array.of(transfer.register), length: 2 }
    case 'read_block':
      return { written: Uint8Array.of(transfer.register), length: transfer.length }
    case 'send_byte':
      return { written: Uint8Array.of(transfer.value), length: 0 }
    case 'write_byte':
      return { written: Uint8Array.of(transfer.register, transfer.value), length: 0 }
    case 'write_word':
      return { written: Uint8Array.of(transfer.register, transfer.value & 0xff, transfer.value >> 8), length: 0 }
    case 'write_block':
      return { written: Uint8Array.of(transfer.register, ...transfer.bytes), length: 0 }
  }
}

export function isRead(transfer: Transfer): transfer is Read {
  return wireOf(transfer).length > 0
}

function errnoOf(error: unknown): number {
  return Math.abs((error as { errno?: number }).errno ?? 0)
}

/** ENODEV: the adapter is gone. */
const gone = 19

function isGone(error: unknown): boolean {
  return errnoOf(error) === gone
}

type Meaning = (part: string, said: string) => ['no_reply' | 'device_failed' | 'disconnected', string]

const noAnswer: Meaning = (part) => [
  'no_reply',
  `nothing answers at ${part}; see its power, its two wires and its address (\`i2cdetect -y N\` shows who is there)`,
]
const other: Meaning = (part, said) => ['device_failed', `${part}: ${said}`]

/** Keyed by errno, because the package leaves `code` empty for most of these (fivdi/i2c-bus #36). */
const meanings: Record<number, Meaning> = {
  2: (part) => ['disconnected', `there is no bus for ${part}; switch it on (\`dtparam=i2c_arm=on\` in config.txt on a Raspberry Pi)`],
  6: noAnswer,
  13: (part) => ['disconnected', `this user may not use the bus of ${part}; add it to the group i2c and start the service again`],
  16: (part) => [
    'device_failed',
    `a driver of the kernel has ${part}; take its overlay out of config.txt, or give the part another address`,
  ],
  [gone]: (part) => ['disconnected', `the bus of ${part} is gone; see that its adapter is plugged in`],
  95: (part) => ['device_failed', `the adapter of ${part} knows SMBus alone, and this part needs a plain read`],
  110: (part) => ['no_reply', `${part} held the bus too long; see for a short circuit and for missing pull-up resistors`],
  121: noAnswer,
}

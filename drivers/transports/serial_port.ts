// A serial port of this computer. The native package is loaded when the first port is opened.

import { once } from 'node:events'
import { fstatSync, statSync, writeSync } from 'node:fs'
import type { SerialPort } from 'serialport'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { whyNotLoaded } from '../../src/kit/native_module.ts'
import { SerialQueue } from '../../src/kit/serial_queue.ts'
import type { Line, SerialSettings } from './line.ts'
import { whyNotOpen } from './port_path.ts'
import { RealLine } from './real_line.ts'

/** Makes a line to the port at `path`. Its `open` rejects with `disconnected`. */
export function serialPort(options: { path: string; serial: SerialSettings; clock?: Clock }): Line {
  return new SerialLine(options.path, options.serial, options.clock ?? systemClock)
}

/** The interval of the check whether the device is still there. */
const watch_ms = 1000
/** The time without accepted bytes after which a port counts as lost. */
const stuck_ms = 100
/** The modem lines after opening. */
const modemAfterOpen = { rts: true, dtr: true }

/** A `SerialPort` object is opened once, because after a reopen it would send its remaining bytes. */
class SerialLine extends RealLine<SerialPort> {
  readonly #path: string
  readonly #serial: SerialSettings
  #modem = modemAfterOpen
  #baud = 0
  /** Changes of the speed, one after the other. */
  readonly #speeds = new SerialQueue(16)
  /** For each requested change of the speed: the bytes written since. */
  readonly #atRisk = new Set<Uint8Array[]>()
  #stopWatching = () => {}

  constructor(path: string, serial: SerialSettings, clock: Clock) {
    super(path, clock)
    this.#path = path
    this.#serial = serial
  }

  write(bytes: Uint8Array): void {
    const fd = this.#opened().fd
    try {
      writeWhole(fd, bytes, this.clock)
      this.show('to_device', bytes)
      for (const written of this.#atRisk) written.push(bytes)
    } catch (error) {
      const reason = `${this.#path} took no more bytes (${messageOf(error)})`
      this.lose(reason)
      throw new LabError('disconnected', `${reason}; see that it is connected`, { cause: error })
    }
  }

  /**
   * Setting the speed discards waiting bytes (`tcflush` in the package). So written bytes are drained at the old speed first,
   * and bytes written meanwhile, which can only be a stop, are written again at the new one. Does nothing if the speed is set already.
   */
  override setBaud(baud: number): Promise<void> {
    const atRisk: Uint8Array[] = []
    this.#atRisk.add(atRisk)
    const isSet = this.#speeds.run(async () => {
      const { port } = this.#opened()
      if (baud === this.#baud) return
      try {
        await called((done) => port.drain(done))
        await called((done) => port.update({ baudRate: baud }, done))
        this.#baud = baud
      } catch (error) {
        throw new LabError('device_failed', `${this.#path} cannot be set to ${baud} baud: ${messageOf(error)}`, { cause: error })
      }
      this.#atRisk.delete(atRisk)
      for (const bytes of atRisk) this.write(bytes)
    })
    return isSet.finally(() => this.#atRisk.delete(atRisk))
  }

  /**
   * False on a pseudo-terminal, which has no modem lines, and on a CDC-ACM adapter without a break: the package clears the
   * break first and then gives up (`Operation not supported, cannot set`).
   */
  override async setModem(lines: { rts?: boolean; dtr?: boolean }): Promise<boolean> {
    const { port } = this.#opened()
    const modem = { ...this.#modem, ...lines }
    try {
      await called((done) => port.set(modem, done))
    } catch {
      return false
    }
    this.#modem = modem
    return true
  }

  protected connect(): Promise<SerialPort> {
    return openPort(this.#path, this.#serial)
  }

  protected begin(port: SerialPort): void {
    this.#modem = modemAfterOpen
    this.#baud = this.#serial.baud
    port.on('data', (bytes: Buffer) => this.came(port, bytes))
    // A port that fails emits `close` once, twice or never.
    port.on('close', (error: Error | null) => this.loseIf(port, error ? error.message : 'it was closed'))
    port.on('error', (error) => this.loseIf(port, error.message))
    const fd = descriptorOf(port)
    if (fd === undefined) this.lose(`${this.#path} was disconnected`)
    else this.#watch(port, identityOf(fstatSync(fd)))
  }

  protected end(port: SerialPort, isLost: boolean): Promise<void> {
    this.#stopWatching()
    return isLost ? discardPort(port) : closePort(port)
  }

  /**
   * Watches for the loss of the adapter: one that is unplugged while it sends causes no event, and the package's read loop keeps a processor busy
   * until the port is closed (serialport/bindings-cpp #162).
   */
  #watch(port: SerialPort, identity: string): void {
    this.#stopWatching = this.clock.after(watch_ms, () => {
      const there = identityAt(this.#path, identity)
      if (!this.isUsed(port)) return
      if (there === identity) this.#watch(port, identity)
      else this.lose(there ? `${this.#path} is another device now` : `${this.#path} is gone`)
    })
  }

  #opened(): { port: SerialPort; fd: number } {
    const port = this.connection
    const fd = descriptorOf(port)
    if (fd !== undefined) return { port, fd }
    this.lose(`${this.#path} was disconnected`)
    throw new LabError('disconnected', `${this.#path} was disconnected; see that it is connected`)
  }
}

async function openPort(path: string, serial: SerialSettings): Promise<SerialPort> {
  const { SerialPort } = await loadPackage()
  const port = new SerialPort({
    path,
    baudRate: serial.baud,
    dataBits: serial.data_bits ?? 8,
    parity: serial.parity ?? 'none',
    stopBits: serial.stop_bits ?? 1,
    lock: true,
    autoOpen: false,
  })
  try {
    await called((done) => port.open(done))
    // Discards bytes that arrived before the port was opened.
    await called((done) => port.flush(done))
    keepReads(port)
    return port
  } catch (error) {
    await closePort(port)
    throw await whyNotOpen(path, error)
  }
}

async function loadPackage(): Promise<typeof import('serialport')> {
  try {
    return await import('serialport')
  } catch (error) {
    const sentence = `serial ports cannot be used here, the package serialport does not load: ${whyNotLoaded(error)}; GET /api/system/doctor says what to do`
    throw new LabError('disconnected', sentence, { cause: error })
  }
}

/** The pending read of each port. */
const reads = new WeakMap<SerialPort, Promise<unknown>>()

/**
 * Remembers the pending read of the port, for which `closePort` waits. A thread of the pool may be executing it when the port is
 * closed. Until it returns, the kernel keeps the lock, and the port cannot be opened again.
 */
function keepReads(port: SerialPort): void {
  const binding = port.port
  if (!binding) return
  const read = binding.read.bind(binding)
  binding.read = (...where) => {
    const bytes = read(...where)
    reads.set(port, bytes)
    return bytes
  }
}

/** Closes the port without sending waiting bytes, since half a frame is useless. */
async function discardPort(port: SerialPort): Promise<void> {
  if (port.isOpen) await called((done) => port.flush(done)).catch(() => undefined)
  await closePort(port)
}

/** Closes the port. Resolves when its descriptor, and with it the lock, is released. Errors are ignored. */
async function closePort(port: SerialPort): Promise<void> {
  port.on('error', () => undefined)
  if (port.isOpen) await called((done) => port.close(done)).catch(() => undefined)
  else if (port.closing) await once(port, 'close').catch(() => undefined)
  await reads.get(port)?.catch(() => undefined)
}

function called(work: (done: (error: Error | null | undefined) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => work((error) => (error ? reject(error) : resolve())))
}

/** Returns the descriptor; read for each frame, since after a loss the number may belong to another file. */
function descriptorOf(port: SerialPort): number | undefined {
  const binding = port.port
  return port.isOpen && binding && 'fd' in binding && typeof binding.fd === 'number' ? binding.fd : undefined
}

/**
 * Returns the identity of the device at a path; undefined if there is none, and `otherwise` if that cannot be told. A device file never blocks, and a synchronous call costs a
 * tenth of one in the thread pool.
 */
function identityAt(path: string, otherwise: string): string | undefined {
  try {
    return identityOf(statSync(path))
  } catch (error) {
    return isGone(error as NodeJS.ErrnoException) ? undefined : otherwise
  }
}

function identityOf({ rdev, ino }: { rdev: number; ino: number }): string {
  return `${rdev} ${ino}`
}

function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOENT' || error.code === 'ENOTDIR'
}

const nap = new Int32Array(new SharedArrayBuffer(4))

function writeWhole(fd: number, bytes: Uint8Array, clock: Clock): void {
  let giveUpAt: number | undefined
  for (let sent = 0; sent < bytes.length; ) {
    const taken = writeSome(fd, bytes, sent)
    sent += taken
    if (taken > 0) continue
    giveUpAt ??= clock.now() + stuck_ms
    if (clock.now() >= giveUpAt) throw new Error(`its buffer has been full for ${stuck_ms} ms`)
    Atomics.wait(nap, 0, 0, 1)
  }
}

function writeSome(fd: number, bytes: Uint8Array, from: number): number {
  try {
    return writeSync(fd, bytes, from)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0
    throw error
  }
}

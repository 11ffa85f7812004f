// An I2C bus of this computer. The native, optional package is loaded when the first bus is opened.

import { access, constants } from 'node:fs/promises'
import type { I2CBus as NativeBus } from 'i2c-bus'
import { LabError } from '../../src/errors.ts'
import { whyNotLoaded } from '../../src/kit/native_module.ts'
import { I2cBus, type I2cPort, type Transfer, type Write } from './i2c.ts'

/** Returns the bus `/dev/i2c-N`, which is opened for its first transfer. */
export function i2cBus(number: number): I2cBus {
  return new I2cBus(`I2C bus ${number}`, () => openI2cPort(number))
}

/** Opens a bus. Rejects with `disconnected` if the package, the bus or the permission is missing, which the package itself would not report. */
export async function openI2cPort(number: number): Promise<I2cPort> {
  const path = `/dev/i2c-${number}`
  const { openSync } = await loadPackage()
  await access(path, constants.R_OK | constants.W_OK).catch((error) => {
    throw new LabError('disconnected', whyNot(path, error), { cause: error })
  })
  const bus = openSync(number)
  const addresses = new Addresses()
  return {
    transfer: (address, transfer) => addresses.use(address, () => transferOn(bus, address, transfer)),
    writeNow: (address, write) => addresses.useNow(address, () => writeOn(bus, address, write)),
    close: () => bus.promisifiedBus().close(),
  }
}

/**
 * Makes sure that an address is set before its file is used. The package caches a file for each address before it sets the address; used too early, or after a failure, the file
 * would reach address 0, which addresses every part on the bus (`peripheral` in its i2c-bus.js).
 */
class Addresses {
  readonly #files = new Map<number, 'opening' | 'ready' | Error>()

  async use<T>(address: number, transfer: () => Promise<T>): Promise<T> {
    if (this.#mustBeUsable(address) === undefined) this.#files.set(address, 'opening')
    try {
      const answer = await transfer()
      this.#files.set(address, 'ready')
      return answer
    } catch (error) {
      throw this.#noted(address, error)
    }
  }

  useNow(address: number, write: () => void): void {
    if (this.#mustBeUsable(address) === 'opening') throw new Error('it is being opened')
    try {
      write()
      this.#files.set(address, 'ready')
    } catch (error) {
      throw this.#noted(address, error)
    }
  }

  #mustBeUsable(address: number): 'opening' | 'ready' | undefined {
    const file = this.#files.get(address)
    if (file instanceof Error) throw file
    return file
  }

  #noted(address: number, error: unknown): unknown {
    const { syscall = '' } = error as NodeJS.ErrnoException
    if (syscall === 'open') this.#files.delete(address)
    else this.#files.set(address, error instanceof Error && syscall.startsWith('setAddr') ? error : 'ready')
    return error
  }
}

async function loadPackage(): Promise<typeof import('i2c-bus')> {
  try {
    // A CommonJS package whose named exports Node cannot detect.
    return (await import('i2c-bus')).default
  } catch (error) {
    const sentence = `I2C cannot be used here, the package i2c-bus does not load: ${whyNotLoaded(error)}; GET /api/system/doctor says what to do`
    throw new LabError('disconnected', sentence, { cause: error })
  }
}

function whyNot(path: string, { code }: NodeJS.ErrnoException): string {
  if (code === 'EACCES') return `this user may not use ${path}; add it to the group i2c and start the service again`
  return `there is no ${path}; switch the bus on (\`dtparam=i2c_arm=on\` in /boot/firmware/config.txt) and load i2c-dev`
}

/** Carries out a transfer in the thread pool, so that a hanging bus blocks nothing else. */
async function transferOn(native: NativeBus, address: number, transfer: Transfer): Promise<Uint8Array> {
  const bus = native.promisifiedBus()
  switch (transfer.verb) {
    case 'receive_byte':
      return Uint8Array.of(await bus.receiveByte(address))
    case 'receive':
      return whole(await bus.i2cRead(address, transfer.length, Buffer.alloc(transfer.length)), transfer.length)
    case 'read_byte':
      return Uint8Array.of(await bus.readByte(address, transfer.register))
    case 'read_word': {
      const word = await bus.readWord(address, transfer.register)
      return Uint8Array.of(word & 0xff, word >> 8)
    }
    case 'read_block':
      return whole(await bus.readI2cBlock(address, transfer.register, transfer.length, Buffer.alloc(transfer.length)), transfer.length)
    case 'send_byte':
      await bus.sendByte(address, transfer.value)
      break
    case 'write_byte':
      await bus.writeByte(address, transfer.register, transfer.value)
      break
    case 'write_word':
      await bus.writeWord(address, transfer.register, transfer.value)
      break
    case 'write_block':
      await bus.writeI2cBlock(address, transfer.register, transfer.bytes.length, Buffer.from(transfer.bytes))
  }
  return new Uint8Array()
}

function whole({ bytesRead, buffer }: { bytesRead: number; buffer: Buffer }, length: number): Uint8Array {
  if (bytesRead === length) return buffer
  throw new Error(`${bytesRead} bytes came instead of ${length}`)
}

function writeOn(bus: NativeBus, address: number, write: Write): void {
  if (write.verb === 'send_byte') bus.sendByteSync(address, write.value)
  else if (write.verb === 'write_block') bus.writeI2cBlockSync(address, write.register, write.bytes.length, Buffer.from(write.bytes))
  else if (write.verb === 'write_byte') bus.writeByteSync(address, write.register, write.value)
  else bus.writeWordSync(address, write.register, write.value)
}

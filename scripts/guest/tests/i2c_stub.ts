// I2C parts that the kernel simulates, as files of registers, on one bus. It knows the verbs of SMBus, no plain reads and writes.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Makes a bus with parts at these addresses, all registers 0, and answers its number. A bus made before is gone then. */
export function i2cStub(addresses: readonly number[]): number {
  execFileSync('modprobe', ['i2c-dev'])
  execFileSync('modprobe', ['-q', '-r', 'i2c-stub'])
  execFileSync('modprobe', ['i2c-stub', `chip_addr=${addresses.join()}`])
  const all = '/sys/bus/i2c/devices'
  const bus = readdirSync(all).find((name) => /^i2c-\d+$/.test(name) && readFileSync(`${all}/${name}/name`, 'utf8').includes('SMBus stub'))
  if (!bus) throw new Error('the kernel made no simulated I2C bus')
  return Number(bus.slice('i2c-'.length))
}

/** As another program: sets a register of two bytes, the high one first, as most parts have them. */
export function setWord(bus: number, address: number, register: number, value: number): void {
  const swapped = ((value & 0xff) << 8) | (value >> 8)
  execFileSync('i2cset', ['-y', `${bus}`, `${address}`, `${register}`, `${swapped}`, 'w'])
}

export function setByte(bus: number, address: number, register: number, value: number): void {
  execFileSync('i2cset', ['-y', `${bus}`, `${address}`, `${register}`, `${value}`])
}

/** As another program: what a register of one byte holds. */
export function getByte(bus: number, address: number, register: number): number {
  return Number(execFileSync('i2cget', ['-y', `${bus}`, `${address}`, `${register}`], { encoding: 'utf8' }))
}

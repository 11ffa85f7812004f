// I2C buses of the guest: one with parts that are files of registers (it knows SMBus alone), and one of a real controller with
// memories at 0x50 to 0x57, where an address without a part goes unanswered as on any bus.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { record, recorded } from './kernel_trace.ts'

/** Makes a bus with parts at these addresses, all registers 0, in place of the one before, and answers its number. */
export function registerFiles(addresses: readonly number[]): number {
  execFileSync('modprobe', ['i2c-dev'])
  execFileSync('modprobe', ['-q', '-r', 'i2c-stub'])
  execFileSync('modprobe', ['i2c-stub', `chip_addr=${addresses.join()}`])
  record('smbus')
  return busCalled('SMBus stub')
}

/** The number of the real controller's bus. */
export function controller(): number {
  execFileSync('modprobe', ['-a', 'i2c-dev', 'i2c-i801'])
  return busCalled('SMBus I801')
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

/** What was written to a part since the record began, `register: bytes` in hex. */
export function written(bus: number, address: number): string[] {
  return [...recorded().matchAll(/smbus_write: i2c-(\d+) a=(\w+) f=\w+ c=(\w+) \w+ l=\d+ \[([\w-]*)\]/g)]
    .filter(([, number, at]) => Number(number) === bus && Number.parseInt(at!, 16) === address)
    .map(([, , , register, bytes]) => `${register}: ${bytes}`)
}

function busCalled(words: string): number {
  const all = '/sys/bus/i2c/devices'
  const bus = readdirSync(all).find((name) => /^i2c-\d+$/.test(name) && readFileSync(`${all}/${name}/name`, 'utf8').includes(words))
  if (!bus) throw new Error(`the kernel made no bus called ${words}`)
  return Number(bus.slice('i2c-'.length))
}

// What each of the servers tells of itself, and what those that stand beside the service have in common with it.

import { hash, timingSafeEqual } from 'node:crypto'
import { answerParent } from '../child.ts'

export type Serving = { port: number; host: string; key: string }
export type Usage = { cpu_us: number; rss_mib: number }

/** Tells the parent where it listens, and what it has used whenever it is asked. */
export function tellOf(serving: Serving): void {
  answerParent(serving, (): Usage => {
    const { user, system } = process.cpuUsage()
    return { cpu_us: user + system, rss_mib: process.memoryUsage.rss() / 2 ** 20 }
  })
}

/** As many shakers as the process is told to have. */
export const devices = Array.from({ length: Number(process.argv[2]) }, (_, i) => ({
  device_id: `shaker-${i + 1}`,
  type: 'shaker',
  name: `Shaker ${i + 1}`,
  is_initialized: true,
}))

/** Whether there is such a device. */
export function isDevice(device_id: string): boolean {
  return ids.has(device_id)
}

export const limits = { speed: { min: 200, max: 3000 }, duration: { min: 0, max: 99_999 } }

const ids = new Set(devices.map(({ device_id }) => device_id))

const secret = 'k'.repeat(43)
export const key = `bk_bbbbbbbb_${secret}`
const digest = hash('sha256', secret, 'buffer')

/** The key's check as the service does it: its form, its hash, and a comparison that takes as long whatever it finds. */
export function isKey(header: string | undefined): boolean {
  const [, key_id, found] = /^bk_([a-z0-9]{8})_([A-Za-z0-9_-]{43})$/.exec(header ?? '') ?? []
  return key_id === 'bbbbbbbb' && timingSafeEqual(hash('sha256', found!, 'buffer'), digest)
}

const records = new Map<string, object>()

/** Writes an operation down: of those, the last thousand are kept. */
export function remember(operation_id: string, record: object): void {
  records.set(operation_id, record)
  if (records.size > 1000) records.delete(records.keys().next().value!)
}

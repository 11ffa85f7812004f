// The report of each server about itself, and the parts that the servers beside the service have in common with it.

import { hash, timingSafeEqual } from 'node:crypto'
import { answerParent } from '../child.ts'
import { usage } from '../process.ts'

export type Serving = { port: number; host: string; key: string }

/** Tells the parent where it listens, and whenever it is asked, what it has used. */
export function tellOf(serving: Serving): void {
  answerParent(serving, () => usage())
}

/** As many shakers as the process is told to have. */
export const devices = Array.from({ length: Number(process.argv[2]) }, (_, i) => ({
  device_id: `shaker-${i + 1}`,
  type: 'shaker',
  name: `Shaker ${i + 1}`,
  is_initialized: true,
}))

export const limits = { speed: { min: 200, max: 3000 }, duration: { min: 0, max: 99_999 } }

const ids = new Set(devices.map(({ device_id }) => device_id))

/** Whether there is such a device. */
export const isDevice = (device_id: string) => ids.has(device_id)

const secret = 'k'.repeat(43)
export const key = `bk_bbbbbbbb_${secret}`
const digest = hash('sha256', secret, 'buffer')

/** The key's check as the service does it: its form, its hash, and a comparison that takes as long whatever it finds. */
export function isKey(header: string | undefined): boolean {
  const [, key_id, found] = /^bk_([a-z0-9]{8})_([A-Za-z0-9_-]{43})$/.exec(header ?? '') ?? []
  return key_id === 'bbbbbbbb' && timingSafeEqual(hash('sha256', found!, 'buffer'), digest)
}

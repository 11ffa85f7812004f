// The USB serial adapter of the guest: QEMU unplugs it and plugs it in as a hand does.

import { existsSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { until } from './waiting.ts'

/** What udev calls it, as long as it is plugged in. */
export const adapter = '/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_BENCHD01-if00-port0'
/** The far end of its cable. */
export const farEnd = '/dev/ttyS6'

const control = '/dev/virtio-ports/benchd.qmp'

/** It is out when this resolves; the kernel notices next. */
export async function unplug(): Promise<void> {
  await order('device_del', { id: 'usb-adapter' })
}

/** Resolves once udev has named it. */
export async function plugIn(): Promise<void> {
  await until('QEMU takes the adapter', plugged)
  await until(`${adapter} is there`, () => existsSync(adapter))
}

/** Whether QEMU has taken it: what was unplugged a moment ago may still hold its end of the cable. */
async function plugged(): Promise<boolean> {
  try {
    await order('device_add', { driver: 'usb-serial', id: 'usb-adapter', serial: 'BENCHD01', chardev: 'usb-a' })
    return true
  } catch (error) {
    if (/is in use|Duplicate/.test((error as Error).message)) return false
    throw error
  }
}

/** Rejects with what QEMU says against it. */
async function order(execute: string, args: object): Promise<void> {
  const qemu = await open(control, 'r+')
  try {
    // Refused each time but the first.
    await asked(qemu, { execute: 'qmp_capabilities' })
    const { error } = await asked(qemu, { execute, arguments: args })
    if (error) throw new Error(`QEMU does not ${execute}: ${error.desc}`)
  } finally {
    await qemu.close()
  }
}

type Answer = { id?: string; error?: { desc: string } }

/** The answer to this order; QEMU tells of other things as well. */
async function asked(qemu: FileHandle, command: object): Promise<Answer> {
  const id = `${performance.now()}`
  await qemu.write(`${JSON.stringify({ ...command, id })}\n`)
  for (let text = ''; ; ) {
    const { buffer, bytesRead } = await qemu.read(Buffer.alloc(4096), 0, 4096, null)
    text += buffer.toString('utf8', 0, bytesRead)
    const lines = text.split('\n')
    text = lines.pop()!
    const answer = lines.map((line): Answer => JSON.parse(line)).find((one) => one.id === id)
    if (answer) return answer
  }
}

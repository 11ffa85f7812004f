// The USB serial adapter of the guest: QEMU unplugs it and plugs it in as a hand does.

import { closeSync, existsSync, openSync, readSync, writeSync } from 'node:fs'
import { until } from './waiting.ts'

/** What udev calls it, as long as it is plugged in. */
export const adapter = '/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_BENCHD01-if00-port0'
/** The far end of its cable. */
export const farEnd = '/dev/ttyS6'

const control = '/dev/virtio-ports/benchd.qmp'

/** It is out when this returns; the kernel notices next. */
export function unplug(): void {
  order('device_del', { id: 'usb-adapter' })
}

/** Resolves once udev has named it. */
export async function plugIn(): Promise<void> {
  order('device_add', { driver: 'usb-serial', id: 'usb-adapter', serial: 'BENCHD01', chardev: 'usb-a' })
  await until(`${adapter} is there`, () => existsSync(adapter))
}

/** Throws what QEMU says against it. */
function order(execute: string, args: object): void {
  const fd = openSync(control, 'r+')
  try {
    // Refused each time but the first.
    asked(fd, { execute: 'qmp_capabilities' })
    const { error } = asked(fd, { execute, arguments: args })
    if (error) throw new Error(`QEMU does not ${execute}: ${error.desc}`)
  } finally {
    closeSync(fd)
  }
}

type Answer = { id?: string; error?: { desc: string } }

/** The answer to this order; QEMU tells of other things as well. */
function asked(fd: number, command: object): Answer {
  const id = `${performance.now()}`
  writeSync(fd, `${JSON.stringify({ ...command, id })}\n`)
  const chunk = Buffer.alloc(4096)
  for (let text = ''; ; ) {
    text += chunk.toString('utf8', 0, readSync(fd, chunk))
    const lines = text.split('\n')
    text = lines.pop()!
    const answer = lines.map((line): Answer => JSON.parse(line)).find((one) => one.id === id)
    if (answer) return answer
  }
}

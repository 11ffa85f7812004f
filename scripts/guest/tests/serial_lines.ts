// The guest's serial ports, and what can be done at their far ends.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import type { Driver } from '../../../drivers/driver.ts'
import type { Line, SerialSettings } from '../../../drivers/transports/line.ts'
import { serialPort } from '../../../drivers/transports/serial_port.ts'
import type { Simulator } from '../../../drivers/transports/simulator.ts'
import { scaled, systemClock } from '../../../src/kit/clock.ts'

/** Two 16550 ports with a cable between them. */
export const crossed = { host: '/dev/ttyS4', instrument: '/dev/ttyS5' }

/** A port that is open until the test ends. */
export async function opened(t: TestContext, path: string, serial: SerialSettings): Promise<Line> {
  const line = serialPort({ path, serial })
  t.after(() => line.close())
  await line.open()
  return line
}

/** Everything that comes out of a line from now on. */
export function reading(line: Line): { text: string } {
  const read = { text: '' }
  line.onBytes((bytes) => {
    read.text += Buffer.from(bytes).toString('latin1')
  })
  return read
}

/** Puts the driver's simulator at the end of a cable. Its time passes `pace` times as fast as that of the driver. */
export async function instrumentAt<Settings>(
  t: TestContext,
  path: string,
  driver: Driver<Settings>,
  settings: NoInfer<Settings>,
  pace = 5,
): Promise<Simulator> {
  let isConnected = true
  // The simulator may have something to say yet when the test closes its port.
  t.after(() => {
    isConnected = false
  })
  const far = await opened(t, path, driver.serial)
  const send = (bytes: Uint8Array) => {
    if (isConnected) far.write(bytes)
  }
  const simulator = driver.simulate({ clock: scaled(systemClock, pace), settings, send })
  far.onBytes((bytes) => simulator.receive(bytes))
  t.after(() => simulator.powerOff())
  return simulator
}

/** How the kernel has set a port, in the words of stty: `9600 baud parenb -parodd cs7 -cstopb`. */
export function framing(path: string): string {
  const words = execFileSync('stty', ['-F', path, '-a'], { encoding: 'utf8' }).split(/[\s;]+/)
  return `${words[1]} baud ${words.filter((word) => /^-?parenb$|^-?parodd$|^cs\d$|^-?cstopb$/.test(word)).join(' ')}`
}

/** The modem lines of a 16550 that are raised: `['RTS', 'DTR', 'CTS', …]`. */
export function raised(path: string): string[] {
  const number = /\d+$/.exec(path)?.[0]
  const line = readFileSync('/proc/tty/driver/serial', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${number}:`))
  return line?.match(/\S+$/)?.[0].split('|') ?? []
}

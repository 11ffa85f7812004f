// Brings the centrifuge from any state to one with addresses, speed, outputs and a closed door. The motor follows later.

import type { Identity } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { isNoReply, strange } from '../transports/exchange.ts'
import { freeForSpinning } from './door.ts'
import { turns } from './rotor.ts'
import type { Talk } from './talk.ts'
import * as words from './words.ts'

/** Attempts to address a module, over more than 5 s; modules are deaf for some 100 ms after a reset. */
const addressTries = 25
const addressDeadline_ms = 200
const coldStarts = 3
/** The time in which an unexpected third module would answer. */
const thirdModule_ms = 2000
/** The pause for the last bytes before a change of the speed, and for the modules to change theirs. */
const settle_ms = 100
const lastWake = 32
/** The directions from all inputs to the valves as outputs, one pin at a time. */
const directions: readonly [number, number][] = [
  ...Array<[number, number]>(8).fill([0xff, 0x0f]),
  [0xdf, 0x0f],
  [0xdf, 0x0e],
  [0xdf, 0x0c],
  [0xdf, 0x08],
]
const pulses = 5

/** Does the cold start. Calls `learn` with the servo's id as soon as it is known, for the resynchronization. */
export async function coldStart(talk: Talk, learn: (servoId: Buffer) => void): Promise<Identity> {
  const { servo, io } = await bothAddressed(talk, learn)
  if (await talk.probeSilent(words.setAddress(3), thirdModule_ms)) {
    throw new LabError('device_failed', 'a third module answered on its bus, and a VSpin has two; see what is connected to this port')
  }
  await toRunningSpeed(talk)
  await talk.order(words.defineServoStatus)
  // The rotor may still coast after the reset if its earlier answers were lost. The motor must not grip it then.
  if (await turns(talk)) throw new LabError('device_failed', 'its rotor is turning; wait until it is at rest, then initialize')
  await outputsReady(talk)
  return {
    model: null,
    serial_number: null,
    firmware_version: `${typeAndVersion(servo)}, ${typeAndVersion(io)}`,
  }
}

/**
 * Gives both modules their addresses and returns their ids. If the first module answers after the deadline, the repeated
 * question gives the second module the same address. Then no module answers at address 0, and the start is repeated with twice
 * the deadline.
 */
async function bothAddressed(talk: Talk, learn: (servoId: Buffer) => void): Promise<{ servo: Buffer; io: Buffer }> {
  for (let starts = 1; ; starts++) {
    await resetAll(talk)
    await firstAddress(talk, 2 ** (starts - 1) * addressDeadline_ms)
    try {
      const servo = await talk.order(words.readServoId)
      learn(servo)
      await talk.order(words.setAddress(2))
      return { servo, io: await talk.order(words.readIoId) }
    } catch (error) {
      if (!isNoReply(error) || starts === coldStarts) throw error
    }
  }
}

/** Resets all modules at both speeds, as they may be cold, or have the speed of an earlier session. */
async function resetAll(talk: Talk): Promise<void> {
  await talk.tell(words.hardReset)
  await changeSpeed(talk, words.coldBaud)
  await talk.tell(words.zeros)
  for (let address = 0; address <= lastWake; address++) await talk.tell(words.wake(address))
  await talk.tell(words.hardReset)
}

async function firstAddress(talk: Talk, deadline_ms: number): Promise<void> {
  const { dropped } = talk
  for (let tries = 1; tries <= addressTries; tries++) {
    if (await talk.probeSilent(words.setAddress(1), deadline_ms)) return
  }
  throw new LabError('no_reply', talk.dropped > dropped ? strange : 'it does not answer; see that it is switched on and connected')
}

async function toRunningSpeed(talk: Talk): Promise<void> {
  await talk.tell(words.toRunningBaud)
  await changeSpeed(talk, words.runningBaud)
  // Best effort, as a pseudo-terminal has no modem lines.
  await talk.line.setModem({ rts: true, dtr: true })
}

async function changeSpeed(talk: Talk, baud: number): Promise<void> {
  await talk.pause(settle_ms)
  await talk.line.setBaud(baud)
  await talk.pause(settle_ms)
}

async function outputsReady(talk: Talk): Promise<void> {
  for (const [low, high] of directions) await talk.order(words.directions(low, high))
  await talk.order(words.outputsOff)
  await talk.order(words.defineIoStatus)
  for (let pulse = 1; pulse <= pulses; pulse++) {
    await talk.order(words.outputs(words.freeBucket, 0))
    await talk.order(words.outputs(0, 0))
  }
  await freeForSpinning(talk)
}

function typeAndVersion(id: Buffer): string {
  return `type ${id.readUInt8(1)} version ${id.readUInt8(2)}`
}

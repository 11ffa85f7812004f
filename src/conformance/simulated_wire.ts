// Compares what an instrument sent in a step of a trial with what its simulator sends.

import * as v from 'valibot'
import type { LineDriver } from '../../drivers/driver.ts'
import { onSimulator } from './on_simulator.ts'
import { knows, operate } from './subject.ts'
import { namesOn, preparing } from './trials.ts'

/** The forms of frames of a simulated instrument that has done the operation: numbers are replaced, since they differ each time. */
export async function formsOfSimulator(driver: LineDriver, settings: unknown, operation: string, params: object): Promise<Set<string>> {
  const { device, line, run, clock } = await onSimulator(driver, v.parse(driver.settings, settings))
  const heard = new Set<string>()
  let last = ''
  line.onWire((direction, bytes) => {
    // The pieces of an answer are one frame.
    last = direction === 'to_host' ? last + Buffer.from(bytes).toString('latin1') : ''
    if (direction === 'to_host') for (const form of formsOf(last)) heard.add(form)
  })
  try {
    await run(device.initialize({}, new AbortController().signal))
    if (operation !== 'initialize') {
      for (const first of preparing(operation, (one) => knows(device, one))) await run(operate(device, first, {}))
      if (namesOn(device).includes(operation)) await run(operate(device, operation, params))
    }
    await run(device.check())
    await clock.advance(2000)
  } catch {
    // A simulator that refuses has shown less, and the person sees what it did not show.
  } finally {
    line.simulator.powerOff()
  }
  return heard
}

const endOfText = String.fromCharCode(3)

/** Returns the forms of the lines of a frame; of a frame without lines that of its bytes. */
export function formsOf(frame: string): string[] {
  const lines = frame
    .replaceAll(endOfText, '\n')
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '')
  return lines.map((line) => line.replace(/-?\d+(\.\d+)?/g, '#').replace(/[^ -~]/g, '.'))
}

// The settings of a port that a driver lets its configuration choose, where they differ by make and by menu.

import * as v from 'valibot'
import { described } from '../src/kit/described.ts'
import type { SerialSettings } from './transports/line.ts'

const speeds = [1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200] as const
const framings = ['8N1', '8E1', '8O1', '7E1', '7O1', '7N2'] as const

type Speed = (typeof speeds)[number]
type Framing = (typeof framings)[number]
type PortChoice = { baud: Speed; framing: Framing }

/** Makes the members of a driver's settings that choose its port, with the defaults of the instrument. */
export function portChoice(usual: PortChoice) {
  return {
    baud: v.optional(described(v.picklist(speeds), 'Speed of the port of the instrument, in baud'), usual.baud),
    framing: v.optional(described(v.picklist(framings), 'Data bits, parity and stop bits of the port of the instrument'), usual.framing),
  }
}

const parities = { N: 'none', E: 'even', O: 'odd' } as const

/** Returns the settings of the port that were chosen. */
export function chosenPort({ baud, framing }: PortChoice): SerialSettings {
  const [data, parity, stop] = framing
  return {
    baud,
    data_bits: data === '7' ? 7 : 8,
    parity: parities[parity as keyof typeof parities],
    stop_bits: stop === '2' ? 2 : 1,
  }
}

// Compares the newest message that the broker has of this bench with the event log of this bench: whether it is the same history.

import type { EventLog } from '../events/log.ts'
import type { Identity } from './identity.ts'
import type { Last } from './wire.ts'

/** The names of the headers of a batch; consumers read them too. */
export const headerNames = {
  bench: 'Bench',
  epoch: 'Epoch',
  machine: 'Machine',
  from: 'From',
  to: 'To',
  to_crc: 'To-Crc',
  lost: 'Lost',
} as const

/** The broker holds messages of another history under the name of this bench. */
export type Foreign = { epoch: string; machine: string }

/** The number behind which this bench goes on, or who was here instead. */
export type Standing = { after: number } | { foreign: Foreign }

/**
 * Judges by the line with the number `To`: each event has a CRC over its number, its time and its content, so two boxes never have the same
 * line. A line that was removed since, or that a power cut took, is believed where the same computer sent it.
 */
export async function standingAt(last: Last, mine: Identity, log: EventLog): Promise<Standing> {
  const [epoch, machine] = [last.header(headerNames.epoch), last.header(headerNames.machine)]
  const to = Number(last.header(headerNames.to))
  const crc = await log.crcOf(to)
  const isSame = crc === last.header(headerNames.to_crc)
  if (epoch === mine.epoch && (isSame || (crc === 'gone' && machine === mine.machine))) return { after: to }
  // The first message of an epoch that was just drawn: on the same computer after a restore, elsewhere when a person says so.
  const mayBegin = epoch !== mine.epoch && !mine.isBegun && (machine === mine.machine || mine.isByPerson)
  // Another data folder on this computer may lack a line of that number too, so that only the very line shows what needs not be sent again.
  return mayBegin ? { after: isSame ? to : 0 } : { foreign: { epoch, machine } }
}

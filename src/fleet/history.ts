// Compares the broker's newest message of this bench with the event log, to tell whether both have the same history.

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

/** The number after which this bench continues to send, or the owner of the foreign history. */
export type Standing = { after: number } | { foreign: Foreign }

/**
 * Compares the log line with the number `To`: each event has a CRC over its number, its time and its content, so two computers never have the same
 * line. If the line was removed since or lost in a power cut, a message from this same computer is trusted.
 */
export async function standingAt(last: Last, mine: Identity, log: EventLog): Promise<Standing> {
  const [epoch, machine] = [last.header(headerNames.epoch), last.header(headerNames.machine)]
  const to = Number(last.header(headerNames.to))
  const crc = await log.crcOf(to)
  const isSame = crc === last.header(headerNames.to_crc)
  if (epoch === mine.epoch && (isSame || (crc === 'gone' && machine === mine.machine))) return { after: to }
  // A new epoch may begin on the same computer after a restore; on another computer only when a person wants it.
  const mayBegin = epoch !== mine.epoch && !mine.isBegun && (machine === mine.machine || mine.isByPerson)
  // Another data folder of this computer may also lack a line of that number, so only an equal line proves what was sent.
  return mayBegin ? { after: isSame ? to : 0 } : { foreign: { epoch, machine } }
}

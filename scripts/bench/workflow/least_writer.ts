// The least program that promises of transactions what the service promises: the state of each is in one file with a checksum, then its events in
// another, and both are on the card before the next begins.

import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { writeAt } from '../../../src/kit/durable.ts'

/** The number of transactions, the values in each with the `characters` of their JSON texts, and the `event_bytes` of events whose texts are there. */
export type Transactions = { transactions: number; values: number; characters: number; event_bytes: number }

export async function writeTransactions(folder: string, { transactions, values, characters, event_bytes }: Transactions): Promise<void> {
  const [states, log] = await Promise.all([open(`${folder}/least-states`, 'w'), open(`${folder}/least-log`, 'w')])
  const events = Buffer.alloc(event_bytes, 'x')
  const changed = Array.from({ length: values }, (_, i) => exampleOf(i, characters))
  for (let n = 0, at = 0; n < transactions; n++) {
    for (const value of changed) value.count = n
    const text = `{"n":${n},"patch":[${changed.map((value) => JSON.stringify(value)).join()}]}\n`
    const line = Buffer.from(`${crc32(text)} ${text}`)
    await writeAt(states, line, at)
    at += line.length
    await writeAt(log, events, n * event_bytes)
    await states.datasync()
    await log.datasync()
  }
  await Promise.all([states.close(), log.close()])
}

/** As many members as the state of a thread has of that length. */
function exampleOf(id: number, characters: number) {
  const members = Array.from({ length: Math.ceil(characters / 40) }, (_, i) => [`member_${i}`, `value ${id} of member ${i}`])
  return { count: 0, ...Object.fromEntries(members) }
}

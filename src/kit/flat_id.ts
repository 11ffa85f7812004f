// Ids that nobody else has.

import { randomUUID } from 'node:crypto'

/** What `randomUUID` answers is a tree of twenty pieces, which takes ten times the room of the text. */
export function flatId(): string {
  return Buffer.from(randomUUID(), 'latin1').toString('latin1')
}

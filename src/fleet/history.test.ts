// Whether the newest message of a bench at the broker is of this bench's history, for every line that its log may have of that number.

import { test } from 'tap'
import type { EventLog } from '../events/log.ts'
import { headerNames, type Standing, standingAt } from './history.ts'
import type { Identity } from './identity.ts'

/** The broker's newest message: events up to 40 of the epoch `old`, from the computer `a`. */
const headers: Record<string, string> = {
  [headerNames.epoch]: 'old',
  [headerNames.machine]: 'a',
  [headerNames.to]: '40',
  [headerNames.to_crc]: '0badcafe',
}
const last = { seq: 7, payload: new Uint8Array(), header: (name: string) => headers[name] ?? '' }
const goesOn = { after: 40 }
const beginsAnew = { after: 0 }
const foreign = { foreign: { epoch: 'old', machine: 'a' } }

/** The CRC of line 40 in the log of this bench, this bench, and how it goes on. */
const cases: readonly (readonly [string | undefined, Partial<Identity>, Standing])[] = [
  ['0badcafe', { epoch: 'old', machine: 'a' }, goesOn],
  ['0badcafe', { epoch: 'old', machine: 'b' }, goesOn],
  ['gone', { epoch: 'old', machine: 'a' }, goesOn],
  ['gone', { epoch: 'old', machine: 'b' }, foreign],
  ['11111111', { epoch: 'old', machine: 'a' }, foreign],
  [undefined, { epoch: 'old', machine: 'a' }, foreign],
  ['0badcafe', { epoch: 'new', machine: 'a' }, goesOn],
  ['gone', { epoch: 'new', machine: 'a' }, beginsAnew],
  [undefined, { epoch: 'new', machine: 'a' }, beginsAnew],
  [undefined, { epoch: 'new', machine: 'a', isBegun: true }, foreign],
  ['0badcafe', { epoch: 'new', machine: 'a', isBegun: true }, foreign],
  [undefined, { epoch: 'new', machine: 'b' }, foreign],
  [undefined, { epoch: 'new', machine: 'b', isByPerson: true }, beginsAnew],
  ['0badcafe', { epoch: 'new', machine: 'b', isByPerson: true }, goesOn],
  [undefined, { epoch: 'new', machine: 'b', isByPerson: true, isBegun: true }, foreign],
]

for (const [crc, mine, standing] of cases) {
  test(`line 40 with the CRC ${crc} in the log of ${JSON.stringify(mine)}`, async (t) => {
    const log = { crcOf: async (seq: number) => (seq === 40 ? crc : 'another line') } as unknown as EventLog
    const identity = { isBegun: false, isByPerson: false, ...mine } as Identity
    t.same(await standingAt(last, identity, log), standing)
  })
}

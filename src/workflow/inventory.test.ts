// Corrections of an inventory while threads wait for its slots.

import { test } from 'tap'
import { graphOn } from '../testing/scheduler.ts'
import { correct, newLabware, storageOn } from './inventory.ts'
import { Scheduler } from './scheduler/scheduler.ts'
import { LabwareOnDeck } from './state/labware.ts'
import type { RunEnvironment } from './threads/run_environment.ts'

test('a thread that waits for a slot gets none while a correction moves labware from slot to slot, and the first that is free afterwards', (t) => {
  const scheduler = new Scheduler(
    graphOn({
      format: 1,
      name: 'bench',
      transporters: { arm: { positions: ['door', 'pad'] }, incubator: { positions: ['door', 'slots'] } },
      positions: { door: {}, pad: {}, slots: { slots: 2 } },
    }),
  )
  const environment = { scheduler, labware: new LabwareOnDeck() } as unknown as RunEnvironment
  const say = (...barcodes: (string | null)[]) => {
    const contents = barcodes.map((barcode, i) => {
      return { slot: i + 1, labware: barcode === null ? null : { barcode, type: '96-well', name: barcode } }
    })
    correct(contents, { environment, storage: storageOn(environment, 'incubator')!, newId: () => `id-${labwareCount++}`, now: () => 0 })
  }
  let labwareCount = 0
  say('A', 'B')
  scheduler.put('plate', 'pad', 'thread')
  environment.labware.set('plate', { ...newLabware('plate', '96-well'), labware_id: 'plate' })
  const granted: string[] = []
  const candidates = ['slots/slot-1', 'slots/slot-2'].map((position) => ({ position }))
  scheduler.request({ thread_id: 'thread', priority: 1, candidates, granted: (its) => void granted.push(JSON.stringify(its)) })
  say('B', 'A')
  t.same(
    ['slots/slot-1', 'slots/slot-2'].map((name) => environment.labware.get(scheduler.position(name).labware_id!)?.barcode),
    ['B', 'A'],
  )
  t.same(granted, [])
  say(null)
  t.equal(granted.length, 1)
  t.equal(scheduler.position('slots/slot-1').reserved_for, 'thread')
  t.end()
})

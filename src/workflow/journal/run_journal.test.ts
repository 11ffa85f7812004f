import { test } from 'tap'
import { Kept, run, testRuntime } from '../../testing/workflow.ts'

const topology = {
  format: 1,
  name: 'bench',
  transporters: { arm: { positions: ['stack', 'mixer_in'] } },
  positions: { stack: { storage: true }, mixer_in: { device: 'mixer' } },
  devices: { mixer: { operations: { mix: { seconds: 60 } } } },
}
const workflow = {
  format: 1,
  name: 'mixed',
  topology: 'bench',
  labware: { plate: { type: '96-well' } },
  methods: { mix_it: [{ do: 'mix', on: 'mixer' }] },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'stack', mode: 'DISPENSE' },
      end: { at: ['stack'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ method: 'mix_it' }],
    },
  },
  start: ['plate'],
}

/** How often the run's threads are looked at for each write of the journal. */
async function looksPerWrite(groups: number): Promise<number> {
  let [writes, looks] = [0, 0]
  class Counted extends Kept {
    protected override written(): void {
      writes++
      const scheduler = runtime.executions()[0]?.environment.scheduler
      if (!scheduler || Object.hasOwn(scheduler, 'whereIs')) return
      const whereIs = scheduler.whereIs.bind(scheduler)
      scheduler.whereIs = (labware_id) => {
        looks++
        return whereIs(labware_id)
      }
    }
  }
  const { runtime } = testRuntime([topology, workflow], { keep: () => new Counted() })
  const asked = Array.from({ length: groups }, (_, i) => ({ group_id: `g${i}`, members: {} }))
  await run(runtime, { workflow: 'mixed', groups: asked })
  return looks / writes
}

test('a write of the journal looks only at what has changed, however many threads wait or have ended', async (t) => {
  const [few, many] = [await looksPerWrite(20), await looksPerWrite(200)]
  t.ok(few > 1 && many < few + 1, `${few} looks a write with 20 threads, ${many} with 200`)
})

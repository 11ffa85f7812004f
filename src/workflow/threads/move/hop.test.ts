import { test } from 'tap'
import { oneArm, workflowOf } from '../../../testing/documents.ts'
import { instantBench, liveRuntime, run } from '../../../testing/workflow.ts'
import type { Carrying } from '../../equipment/equipment.ts'

const topology = oneArm({ pads: ['pad_1', 'pad_2'] })

/** Moves a plate with this template, and returns the labware that the transporter was told of. */
async function carriedAs(plate: object): Promise<Carrying['labware'][]> {
  const told: Carrying['labware'][] = []
  const live = instantBench({
    async carry(_arm, _verb, { labware }) {
      told.push(labware)
    },
  })
  const thread = { start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, steps: [], end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' } } as const
  const document = workflowOf('moved', { plate: thread }, { labware: { plate } })
  const { runtime } = liveRuntime(topology, [document], { live })
  await run(runtime, { workflow: 'moved', run_mode: 'LIVE' })
  return told
}

test('a transporter is told how the workflow has the labware gripped, at the pick and at the place', async (t) => {
  const grip = { width: 84, force: 12 }
  const told = await carriedAs({ type: '96-well', grip })
  t.match(told, [{ type: '96-well', grip }, { grip }])
  const [plain] = await carriedAs({ type: '96-well' })
  t.notOk('grip' in plain!, 'without it the transporter has its own settings')
})

import { test } from 'tap'
import { openTestBench } from '../testing/http.ts'
import { benchOf } from '../workflow/plans/bench.ts'
import { compileLibrary } from '../workflow/plans/library.ts'
import { refusalFor } from '../workflow/plans/refusal.ts'
import { runModes } from '../workflow/state/modes.ts'
import { demoTeachpoints } from './demo_bench.ts'
import { demoTopology, sealAndSpin } from './seal_and_spin.ts'

test('the workflow of the demo runs on the demo bench in every mode, once its points are there', async (t) => {
  const { bench } = await openTestBench(t)
  const setup = benchOf(() => bench.registry.all(), bench.teachpoints)
  const sources = [sealAndSpin, demoTopology].map((input) => ({ origin: 'the demo', form: 'json' as const, input }))
  const { workflows, faults } = compileLibrary(sources, setup)
  t.same(faults, [])
  const workflow = workflows.get('seal-and-spin')!
  t.equal(
    refusalFor(workflow, 'LIVE', setup),
    'workflow seal-and-spin cannot run in LIVE, only in PURE_SIM: arm-1 was not taught pad_1, pad_2, pad_3, pad_4, shaker_in, sealer_in, centrifuge_in, waste (teach them: POST /api/teachpoints/bulk)',
  )
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  for (const mode of runModes) t.equal(refusalFor(workflow, mode, setup), undefined, mode)
})

test('what the demo’s instruments do not take is refused when it is loaded', async (t) => {
  const { bench } = await openTestBench(t)
  const setup = benchOf(() => bench.registry.all(), bench.teachpoints)
  const tooHot = { ...sealAndSpin, variables: { ...sealAndSpin.variables, temperature: { default: 400 } } }
  const sources = [demoTopology, tooHot].map((input) => ({ origin: 'the demo', form: 'json' as const, input }))
  const { faults } = compileLibrary(sources, setup)
  t.match(faults[0]?.reason, /methods\.seal_it\[0\]\.with: temperature 400 °C is outside what sealer-1 takes/)
})

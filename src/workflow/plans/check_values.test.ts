import { test } from 'tap'
import { compiled } from '../../testing/plans.ts'

type Change = { values?: object; save?: object; step?: object }

const read = { do: 'read', on: 'reader' }
const withValues = ({ values = { od: { example: 0.7 } }, save = { od: 'absorbance' }, step }: Change) =>
  compiled({
    topology: (d) => {
      d.positions.reader_nest = { device: 'reader' }
      for (const { positions } of Object.values(d.transporters) as { positions: string[] }[]) positions.push('reader_nest')
      d.devices = { ...d.devices, reader: { sites: 1, operations: { read: { seconds: 10 }, get_temperature: {} } } }
    },
    workflow: (d) => {
      d.values = values
      d.methods.shake_it.push({ ...read, save })
      if (step) d.threads.plate.steps.push(step)
    },
  })
const invalid = (message: RegExp) => ({ code: 'invalid', message })

test('a saved value is declared with an example, and a compared one is saved', async (t) => {
  t.ok(withValues({ step: { if: { value: 'od', above: 0.5 }, then: [{ method: 'seal_it' }] } }))
  t.ok(withValues({ step: { repeat: { until: { value: 'od', above: 0.5 }, at_most: 3 }, steps: [{ method: 'seal_it' }] } }))
  t.throws(() => withValues({ values: {} }), invalid(/methods\.shake_it\[2\]\.save\.od: there is no value od/))
  t.throws(() => withValues({ step: { if: { value: 'do', above: 1 }, then: [] } }), invalid(/\.if: there is no value do/))
  t.throws(
    () => withValues({ values: { od: { example: 1 }, ph: { example: 7 } }, step: { if: { value: 'ph', above: 1 }, then: [] } }),
    invalid(/\.if: no action saves ph; give one "save": {"ph": …}/),
  )
  t.throws(
    () => withValues({ values: { od: { example: 'high' } }, step: { if: { value: 'od', above: 1 }, then: [] } }),
    invalid(/od is "high" in its example, and is compared with 1, which is of another kind/),
  )
})

test('steps inside conditions and repeats are checked as all others are', async (t) => {
  const deep = { repeat: { times: 2 }, steps: [{ if: { value: 'od', above: 1 }, then: [{ method: 'sael_it' }] }] }
  t.throws(() => withValues({ step: deep }), invalid(/repeat|steps\[\d\]\.steps\[0\]\.then\[0\]\.method: there is no method sael_it/))
  t.throws(() => withValues({ step: { repeat: { times: 0 }, steps: [{ method: 'seal_it' }] } }), invalid(/repeat/))
  t.throws(() => withValues({ step: { repeat: { times: 2 }, steps: [] } }), invalid(/steps/))
  t.throws(() => withValues({ step: { delay: 0 } }), invalid(/delay/))
})

test('until_temperature names a device of the topology that measures its temperature', async (t) => {
  t.ok(withValues({ step: { until_temperature: { device: 'reader' }, timeout: 60 } }))
  t.throws(() => withValues({ step: { until_temperature: { device: 'raeder' } } }), invalid(/there is no device raeder/))
  t.throws(() => withValues({ step: { until_temperature: { device: 'washer' } } }), invalid(/washer has no operation get_temperature/))
})

import { test } from 'tap'
import { compiled } from '../../testing/plans.ts'
import { eventWarnings } from './event_warnings.ts'

test('an event that nothing emits is warned about where one of nearly the same name is emitted', async (t) => {
  const { threads, methods } = compiled()
  const [emit] = methods.get('shake_it')!.actions.flatMap(({ kind, action }) => (kind === 'emit' ? [action.emit] : []))
  t.equal(emit, 'qc.done')
  t.ok(threads.has('plate'))
  t.same(eventWarnings(compiled()), [])
  const mistyped = compiled({
    workflow: (d) => {
      d.threads.plate.steps[1].branch = 'qc.dnoe'
      d.threads.plate.steps.push({ wait_for: 'somebody.came' }, { wait_for: 'qc.doe' })
      d.methods.shake_it.push({ wait_for: 'qc-done' })
    },
  })
  t.same(
    eventWarnings(mistyped),
    [
      ['methods.shake_it[2]', 'qc-done'],
      ['threads.plate.steps[1]', 'qc.dnoe'],
      ['threads.plate.steps[4]', 'qc.doe'],
    ].map(([path, event]) => `${path}: nothing in the workflow emits "${event}"; did you mean "qc.done"?`),
    'an event from outside, which is like none, is right',
  )
})

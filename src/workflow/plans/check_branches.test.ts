import { test } from 'tap'
import { compiled } from '../../testing/plans.ts'

const withBranch = (branch: object, value: string | null = 'complete') =>
  compiled({
    workflow: (d) => {
      d.methods.shake_it.at(-1).value = value
      d.threads.plate.steps[1] = { branch: 'qc.done', ...branch }
    },
  })
const cases = { complete: [{ method: 'seal_it' }] }

test('a value that the workflow emits must have a case, or the branch an else', async (t) => {
  t.ok(withBranch({ cases }))
  t.ok(withBranch({ cases, else: [] }, 'failed'))
  t.throws(() => withBranch({ cases }, 'failed'), {
    code: 'invalid',
    message:
      /threads\.plate\.steps\[1\]: methods\.shake_it\[1\] emits qc\.done with the value "failed", for which there is no case; add that case, or an else/,
  })
  t.throws(() => withBranch({ cases }, null), {
    code: 'invalid',
    message: /emits qc\.done without a value, for which there is no case; add an else/,
  })
  t.ok(withBranch({ branch: 'from.outside', cases }, 'failed'), 'the values of events from outside are unknown')
})

test('the hash of a branch without else is the one of earlier versions, which filled in an empty else', async (t) => {
  t.equal(withBranch({ cases }).hash, withBranch({ cases, else: [] }).hash)
  t.not(withBranch({ cases }).hash, withBranch({ cases, else: [{ method: 'seal_it' }] }).hash)
})

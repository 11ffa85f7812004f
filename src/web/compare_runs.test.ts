import { test } from 'tap'
import type { TimelineRow } from '../clients/ts/benchd.ts'
import { comparisonOf } from './compare_runs.ts'

const row = (name: string, device: string, started: number, ended: number | null): TimelineRow => ({
  ...{ action_id: `${name} ${started}`, thread_id: 't', thread_name: 'plate', kind: 'action', name, method_id: null, method_name: null },
  ...{ device, from: null, to: null, transporter: null, status: 'COMPLETED', created: started, started, ended },
})
const move = (started: number, ended: number): TimelineRow => ({
  ...{ ...row('move', '', started, ended), kind: 'move', name: null, device: null, from: 'pad_1', to: 'nest', transporter: 'arm-1' },
})

test('two runs are compared step by step, and the largest difference is said', (t) => {
  const here = [move(0, 12), row('shake', 'shaker-1', 12, 22), row('seal', 'sealer-1', 30, 90)]
  const there = [move(0, 12), row('shake', 'shaker-1', 12, 22), row('seal', 'sealer-1', 30, 75)]
  const { words, steps } = comparisonOf(here, there)
  t.equal(words, 'This run took 1:30, the earlier one 1:15: 0:15 longer. The largest difference: seal on sealer-1, 0:15 longer.')
  t.same(steps, [
    { step: 'moves by arm-1', here: '0:12', there: '0:12', difference: 'the same', isLonger: false },
    { step: 'shake on shaker-1', here: '0:10', there: '0:10', difference: 'the same', isLonger: false },
    { step: 'seal on sealer-1', here: '1:00', there: '0:45', difference: '0:15 longer', isLonger: true },
  ])
  t.end()
})

test('a step that failed and waited for a decision stands apart from those that were done', (t) => {
  const here: TimelineRow[] = [{ ...row('seal', 'sealer-1', 0, 82), status: 'ERRORED' }, row('seal', 'sealer-1', 82, 110)]
  const { words, steps } = comparisonOf(here, [row('seal', 'sealer-1', 0, 60)])
  t.same(
    steps.map(({ step, here, difference }) => [step, here, difference]),
    [
      ['seal on sealer-1 (failed)', '1:22', 'only in this run'],
      ['seal on sealer-1', '0:28', '0:32 shorter'],
    ],
  )
  t.match(words, /Done in one of the runs alone: seal on sealer-1 \(failed\)\.$/)
  t.end()
})

test('runs with other numbers of plates are compared by the mean, and steps of one of them alone are named', (t) => {
  const here = [row('shake', 'shaker-1', 0, 10), row('shake', 'shaker-1', 20, 32), row('spin', 'centrifuge-1', 40, null)]
  const there = [row('shake', 'shaker-1', 0, 13), row('peel', 'peeler-1', 20, 30)]
  const { words, steps } = comparisonOf(here, there)
  t.same(steps[0], { step: 'shake on shaker-1', here: '2 × 0:11', there: '0:13', difference: '0:02 shorter', isLonger: false })
  t.same(steps[1], { step: 'peel on peeler-1', here: '–', there: '0:10', difference: 'only in the earlier run', isLonger: false })
  t.match(words, /Done in one of the runs alone: peel on peeler-1\.$/)
  t.end()
})

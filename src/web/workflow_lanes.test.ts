import { test } from 'tap'
import { standing, workflowOf } from '../testing/documents.ts'
import { lanesIn } from './workflow_lanes.ts'

test('a workflow is lanes with its steps in words, and the ways behind a condition', (t) => {
  const shake = [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }, { emit: 'done' }]
  const steps = [
    { method: 'shake' },
    { branch: 'qc', cases: { good: [{ delay: 5 }] }, else: [{ wait_for: 'go' }] },
    { repeat: { times: 3 }, steps: [{ method: 'shake' }] },
    { branch: 'qc', cases: { good: [{ delay: 5 }] } },
    {
      if: {
        any: [
          { value: 'od', above: 0.5, at_most: 2 },
          { value: 'kind', one_of: ['a', 'b'] },
        ],
      },
      then: [{ delay: 5 }],
    },
  ]
  const threads = { lid: { ...standing('pad_3'), steps: [] }, plate: { ...standing('pad_1'), steps } }
  const document = workflowOf('lanes', threads, { methods: { shake }, start: ['plate'] })
  const [plate, lid] = lanesIn(document as never)
  const wait = { text: 'waits 5 s', kind: 'wait' }
  const work = { text: 'shake on shaker-1', kind: 'work' }
  t.match(plate, { thread: 'plate', from: 'pad_1', isFirst: true })
  t.same(plate?.steps, [
    work,
    {
      text: 'by the value of qc',
      kind: 'way',
      ways: [
        { word: 'good', steps: [wait] },
        { word: 'else', steps: [{ text: 'waits for go', kind: 'wait' }] },
      ],
    },
    { text: '3 times', kind: 'way', ways: [{ word: '', steps: [work] }] },
    { text: 'if qc is good', kind: 'way', ways: [{ word: 'good', steps: [wait] }] },
    { text: 'if od above 0.5 and at most 2 or kind one of a, b', kind: 'way', ways: [{ word: 'then', steps: [wait] }] },
  ])
  t.match(lid, { thread: 'lid', isFirst: false, steps: [] })
  t.end()
})

import { test } from 'tap'
import { standing, workflowOf } from '../testing/documents.ts'
import { lanesIn } from './workflow_lanes.ts'

test('a workflow is lanes with its steps in words, and the ways behind a condition', (t) => {
  const shake = [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 5 } }, { emit: 'done' }]
  const steps = [
    { method: 'shake' },
    { branch: 'qc', cases: { good: [{ delay: 5 }] }, else: [{ wait_for: 'go' }] },
    { repeat: { times: 3 }, steps: [{ method: 'shake' }] },
  ]
  const threads = { lid: { ...standing('pad_3'), steps: [] }, plate: { ...standing('pad_1'), steps } }
  const document = workflowOf('lanes', threads, { methods: { shake }, start: ['plate'] })
  const [plate, lid] = lanesIn(document as never)
  const work = { text: 'shake on shaker-1', kind: 'work' }
  t.match(plate, { thread: 'plate', from: 'pad_1', isFirst: true })
  t.same(plate?.steps, [
    work,
    {
      text: 'by qc',
      kind: 'way',
      ways: [
        { word: 'good', steps: [{ text: 'waits 5 s', kind: 'wait' }] },
        { word: 'else', steps: [{ text: 'waits for go', kind: 'wait' }] },
      ],
    },
    { text: '3 times', kind: 'way', ways: [{ word: '', steps: [work] }] },
  ])
  t.match(lid, { thread: 'lid', isFirst: false, steps: [] })
  t.end()
})

import { test } from 'tap'
import type { RecordRow } from '../../events/run_record_file.ts'
import { foretoldStory } from '../records/foretold_story.ts'
import { ForetoldRun } from './foretold_run.ts'

const basis = { by: 'sum' as const, learned: 0, declared: 1, usual: 0, assumed: [] }

function kept(before = 0) {
  const rows: RecordRow[] = []
  const record = {
    get forecasts() {
      return before + rows.length
    },
    add: (row: RecordRow) => rows.push(row),
  }
  const foretold = new ForetoldRun({ started_at: 1000, record })
  const note = (eta: number | null, reason: string | null = null) =>
    foretold.note({ made_at: 1000, eta, left_s: (eta ?? 1600) - 1000, progress: 0, reason, basis })
  return { rows, note }
}

test('a row is kept at the start, after a change of more than a twentieth, and when the end becomes known or unknown', (t) => {
  const { rows, note } = kept()
  note(1600)
  note(1620)
  note(1635)
  note(null, 'plate is paused')
  note(null, 'plate is paused')
  note(null, 'plate waits')
  note(1640)
  t.same(
    rows.map(({ eta, reason, basis }) => [eta, reason, basis !== undefined]),
    [
      [1600, undefined, true],
      [1635, undefined, false],
      [null, 'plate is paused', false],
      [null, 'plate waits', false],
      [1640, undefined, false],
    ],
  )
  t.equal(foretoldStory(rows, { started_at: 1000, ended_at: 1665 }), 'foretold 10:00, took 11:05')
  t.equal(foretoldStory(rows, { started_at: 1000, ended_at: null }), '')
  t.equal(foretoldStory([], { started_at: 1000, ended_at: 1665 }), '')
  t.end()
})

test('the rows of a run are bounded, also over restarts', (t) => {
  const { rows, note } = kept(190)
  for (let i = 0; i < 100; i++) note(2000 + i * 1000)
  t.equal(rows.length, 10)
  t.end()
})

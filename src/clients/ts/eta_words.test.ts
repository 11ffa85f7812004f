import { test } from 'tap'
import { clockTime, etaWords, progressAt, timeLeft } from './eta_words.ts'

const noon = new Date(2026, 10, 28, 12, 0).getTime() / 1000

test('the time that is left', (t) => {
  const words = [5, 89, 90, 3000, 7140, 7200, 18_600, 172_800, 187_200].map(timeLeft)
  t.same(words, ['5 s', '89 s', '2 min', '50 min', '119 min', '2 h', '5 h 10 min', '2 d', '2 d 4 h'])
  t.equal(timeLeft(-3), '0 s')
  t.end()
})

test('the end on the local clock, with the day if it is another one', (t) => {
  t.equal(clockTime(noon + 9120, noon), '14:32')
  t.equal(clockTime(noon + 86_400, noon), 'Sun 12:00')
  t.equal(clockTime(noon + 10 * 86_400, noon), '2026-12-08 12:00')
  t.equal(etaWords({ eta: noon + 720 }, noon), 'ends about 12:12, 12 min left')
  t.equal(etaWords({ eta: noon - 5 }, noon), 'should end now')
  t.equal(etaWords({ eta: null, eta_reason: 'the run is paused' }, noon), 'its end cannot be foretold: the run is paused')
  t.equal(etaWords({}, noon), '')
  t.end()
})

test('progress goes on by the clock while an end is foretold', (t) => {
  t.equal(progressAt({ eta: noon + 50, progress: 0.1, started_at: noon - 50 }, noon), 0.5)
  t.equal(progressAt({ eta: noon - 10, progress: 0.1, started_at: noon - 50 }, noon), 1)
  t.equal(progressAt({ eta: null, progress: 0.4, started_at: noon }, noon), 0.4)
  t.equal(progressAt({ started_at: noon }, noon), null)
  t.end()
})

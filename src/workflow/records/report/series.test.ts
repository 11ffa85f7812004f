import { test } from 'tap'
import { ReportFacts } from './facts.ts'
import { mostSamples, Series } from './series.ts'

test('a series that is thinned keeps each peak at its time, the order of times, and the last target', (t) => {
  for (const count of [39_999, 40_000, 100_001, 500_003]) {
    const series = new Series('shaker-1', 'temperature')
    const [overshoot, dip] = [Math.floor(count / 3) | 1, count - 7]
    for (let i = 0; i < count; i++) series.add(i, i === overshoot ? 60 : i === dip ? 4 : 37 + (i % 10) / 10, i === count - 1 ? 38 : 37)
    t.equal(series.seen, count)
    t.ok(series.at.length <= mostSamples.series && series.at.length >= 10_000, `${series.at.length} samples are kept of ${count}`)
    t.same(series.spread(), { lowest: 4, highest: 60, target: 38 })
    t.equal(series.spread(overshoot, overshoot)?.highest, 60)
    t.equal(series.spread(dip, dip)?.lowest, 4)
    t.ok(
      series.at.every((at, i) => i === 0 || at > series.at[i - 1]!),
      'the times are in their order',
    )
    t.equal(series.at[0], 0)
    t.ok(
      series.at.every((at, i) => at - (series.at[i - 1] ?? 0) <= 2 * 64),
      'no part of the time is without a sample',
    )
  }
  t.end()
})

test('all series together have a limit, and each keeps its highest and its lowest value', (t) => {
  const facts = new ReportFacts()
  let most = 0
  for (let i = 0; i < 1000; i++)
    for (let device = 0; device < 500; device++) {
      const temperature = i === 501 && device % 100 === 7 ? 90 : 37 + ((i * 7) % 10) / 10
      facts.add({ kind: 'readings', at: i, device_id: `device-${device}`, values: { temperature } })
      most = Math.max(most, facts.samples)
    }
  const series = [...facts.series.values()]
  t.equal(series.length, 500)
  t.ok(most <= mostSamples.all, `${most} at most`)
  t.equal(
    series.reduce((sum, { at }) => sum + at.length, 0),
    facts.samples,
  )
  t.same(facts.series.get('device-107 temperature')?.spread(), { lowest: 37, highest: 90, target: null })
  t.same(facts.series.get('device-108 temperature')?.spread(), { lowest: 37, highest: 37.9, target: null })
  t.equal(facts.series.get('device-108 temperature')?.seen, 1000)
  t.end()
})

import { test } from 'tap'
import * as v from 'valibot'
import { isWithin, mustBeSpan, pageOf, spanOf } from './time_span.ts'

const Span = v.object(spanOf('Only what began'))

test('a moment is Unix time in seconds, or ISO 8601 with its zone', (t) => {
  const at = 1769846400
  for (const text of [
    String(at),
    `${at}.0`,
    '2026-01-31T08:00Z',
    '2026-01-31t08:00:00.000z',
    '2026-01-31T09:00+01:00',
    '2026-01-31T09:00 0100',
  ])
    t.equal(v.parse(Span, { since: text }).since, at, text)
  for (const text of ['', '2026-01-31', '2026-01-31T08:00', '2026-02-31T08:00:61Z', '1769846400000', '-5', 'yesterday', '1e3'])
    t.throws(() => v.parse(Span, { until: text }), /Unix time in seconds/, text)
  t.throws(() => mustBeSpan({ since: 5, until: 5 }), { code: 'invalid', message: /since is not before until/ })
  t.doesNotThrow(() => mustBeSpan({ since: 4, until: 5 }))
  t.same(
    [3, 4, 5].map((time) => isWithin(time, { since: 4, until: 5 })),
    [false, true, false],
  )
  t.ok(isWithin(0, {}))
  t.end()
})

test('pages follow one another without a gap, also when new entries come in between', (t) => {
  const list = Array.from({ length: 7 }, (_, i) => `e${7 - i}`)
  const asked = { limit: 2, idOf: (id: string) => id, matches: (id: string) => id !== 'e4' }
  const seen: string[] = []
  let before: string | undefined
  for (;;) {
    const { items, next } = pageOf(list, { ...asked, before })
    seen.push(...items)
    list.unshift(`new ${list.length}`)
    if (next === null) break
    before = next
  }
  t.same(seen, ['e7', 'e6', 'e5', 'e3', 'e2', 'e1'])
  t.throws(() => pageOf(list, { ...asked, before: 'gone' }), { code: 'invalid', message: /no "gone" any more; begin again/ })
  t.end()
})

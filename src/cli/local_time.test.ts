import { test } from 'tap'
import { expiryOf } from './expiry.ts'
import { localTime, momentOf, noTime } from './local_time.ts'

/** Runs the work in a zone of time. */
function inZone(zone: string, work: () => void): void {
  const before = process.env.TZ
  process.env.TZ = zone
  try {
    work()
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
}

test('a day begins and ends at local midnight, and a time without a zone is local', async (t) => {
  inZone('Pacific/Kiritimati', () => {
    t.equal(momentOf('2026-11-28'), Date.UTC(2026, 10, 27, 10) / 1000)
    t.equal(momentOf('2026-11-28T09:30'), Date.UTC(2026, 10, 27, 19, 30) / 1000)
    t.equal(momentOf('2026-11-28 09:30:15.5'), Date.UTC(2026, 10, 27, 19, 30, 15, 500) / 1000)
    t.equal(momentOf('2026-11-28T09:30Z'), Date.UTC(2026, 10, 28, 9, 30) / 1000)
    t.equal(momentOf('2026-11-28T09:30+01:00'), Date.UTC(2026, 10, 28, 8, 30) / 1000)
    t.equal(expiryOf({ expires: '2026-11-28' }).expires_at, Date.UTC(2026, 10, 28, 10) / 1000)
  })
})

test('each printed time names its zone', async (t) => {
  const at = Date.UTC(2026, 0, 31, 23, 30, 15, 250) / 1000
  inZone('UTC', () => t.equal(localTime(at), '2026-01-31T23:30Z'))
  inZone('Pacific/Kiritimati', () => t.equal(localTime(at, 'seconds'), '2026-02-01T13:30:15+14:00'))
  inZone('America/St_Johns', () => t.equal(localTime(at, 'milliseconds'), '2026-01-31T20:00:15.250-03:30'))
  t.equal(localTime(1e300), `${1e300} s`)
})

test('a date in another form is refused with the form to write', async (t) => {
  for (const text of [
    '05/11/2026',
    '5.11.2026',
    '05-11-2026',
    '2026/11/05',
    '2026-02-30',
    '2026-11-28T25:00',
    '2026-13-01',
    'May 11',
    '',
    '0x10',
  ])
    t.equal(momentOf(text), undefined, text)
  t.match(noTime('05/11/2026', 'x'), {
    exit: 'usage',
    message: /^05\/11\/2026 is no time that is clear.*write a day as year-month-day, 2026-11-28$/,
  })
  t.match(noTime('yesterday', '10m'), { message: 'yesterday is no time; write 10m' })
  t.throws(() => expiryOf({ expires: '05/11/2026' }), { exit: 'usage', message: /year-month-day/ })
})

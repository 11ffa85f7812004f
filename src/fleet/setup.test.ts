import { test } from 'tap'
import { testBroker } from '../testing/broker.ts'
import { withBroker } from '../testing/with_broker.ts'
import { setUp } from './setup.ts'
import { differences } from './stream_settings.ts'

withBroker('what an administrator has set at the broker is kept, and said; a stream that the lab cannot use is refused', async (t) => {
  const { url, changeStream } = await testBroker(t)
  const place = { servers: [url], name: 'admin' }
  t.same(await setUp(place), [])
  await changeStream({ max_msgs: 1000, max_age: 86_400e9, discard: 'new' })
  const kept =
    'the stream BD_EVT was there and is kept; max_msgs is 1000 in place of unlimited, max_age is 86400 s in place of unlimited, discard is new in place of old'
  t.same(await setUp(place), [kept])
  t.same(await setUp(place), [kept], 'it was not changed')
  await changeStream({ subjects: ['bd.floor-2.evt.*'], allow_direct: false })
  await t.rejects(setUp(place), {
    code: 'conflict',
    message:
      /has a stream BD_EVT that the lab cannot use: it does not take bd\.\*\.evt\.\*, allow_direct is false in place of true\. Change the stream at the broker/,
  })
})

test('a member that the broker leaves out is as usual, or not set', (t) => {
  const wanted = { subjects: ['a'], max_msgs_per_subject: 1 }
  t.same(differences(wanted, { subjects: ['b', 'a'], allow_direct: true }), { missing: [], other: [] })
  t.same(differences(wanted, { subjects: ['a'], sealed: true, max_msgs_per_subject: 5, duplicate_window: 5e9 }), {
    missing: ['allow_direct is false in place of true', 'sealed is true in place of false'],
    other: ['max_msgs_per_subject is 5 in place of 1', 'duplicate_window is 5 s in place of 120 s'],
  })
  t.end()
})

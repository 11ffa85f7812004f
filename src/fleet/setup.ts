// Makes at the broker what the benches of a lab need there.

import { custodyBucket } from './custody_bucket.ts'
import { eventStream } from './outbox.ts'
import { benchBucket } from './presence.ts'
import { connectTo, type Place } from './wire.ts'

/** Makes the stream of events and the buckets of benches and of custody, unless they are there. Rejects with `disconnected`. */
export async function setUp(place: Place): Promise<void> {
  const link = await connectTo(place)
  try {
    await link.makeStream(eventStream, ['bd.*.evt.*'])
    await link.makeBucket(benchBucket)
    await link.makeBucket(custodyBucket)
  } finally {
    link.close()
  }
}

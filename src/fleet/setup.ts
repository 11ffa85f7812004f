// Makes the streams and buckets that the benches of a lab need at the broker.

import { custodyBucket } from './custody_bucket.ts'
import { eventStream } from './outbox.ts'
import { benchBucket } from './presence.ts'
import { connectTo, type Place } from './wire.ts'

/**
 * Makes the stream of events and the buckets of benches and of custody. Existing ones are kept; a sentence is returned for each that an administrator
 * has configured differently. Rejects with `disconnected`, and with `conflict` if the lab cannot use an existing one.
 */
export async function setUp(place: Place): Promise<string[]> {
  const link = await connectTo(place)
  try {
    const differing = [
      ['stream', eventStream, await link.makeStream(eventStream, ['bd.*.evt.*'])],
      ['bucket', benchBucket, await link.makeBucket(benchBucket)],
      ['bucket', custodyBucket, await link.makeBucket(custodyBucket)],
    ] as const
    return differing.flatMap(([kind, name, settings]) =>
      settings.length ? [`the ${kind} ${name} was there and is kept; ${settings.join(', ')}`] : [],
    )
  } finally {
    link.close()
  }
}

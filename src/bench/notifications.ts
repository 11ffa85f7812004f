// Connects the notifier to the bench: it receives every event, and reports the start and the restored runs.

import type { Hub } from '../events/hub.ts'
import type { Log } from '../kit/log.ts'
import { messageOfPaused, messageOfStart } from '../notify/messages.ts'
import { Notifier, type NotifierOptions } from '../notify/notifier.ts'
import type { LateRuns } from './late_runs.ts'

/** Opens the notifier, which receives every event. Reports this start, unless it is the first one. */
export async function openNotifier(
  hub: Hub,
  { version, safe }: { version: string; safe: string | undefined },
  options: NotifierOptions,
): Promise<Notifier> {
  const notifier = await Notifier.open(options)
  if (hub.log.newest_us > 0) notifier.tell(messageOfStart(version, safe))
  hub.registerSink(notifier)
  return notifier
}

/** Reports the restored runs, each of which waits for a person. */
export function reportPaused(runs: LateRuns, notifier: Notifier, log: Log): void {
  for (const message of runs.underWay.map(messageOfPaused)) {
    log.warn(message.text)
    notifier.tell(message)
  }
}

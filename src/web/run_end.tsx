// When an open run ends, and how much of it is done.

import type { ExecutionSummary } from '../clients/ts/benchd.ts'
import { etaWords, progressAt, timeLeft } from '../clients/ts/eta_words.ts'
import { now } from './store.tsx'
import { Time } from './time.tsx'

/** The end of an open run, with the time left; why there is none; nothing where the service says nothing of it. */
export function RunEnd({ run }: { run: ExecutionSummary }) {
  const { eta, eta_reason } = run
  const now_s = now.value / 1000
  if (typeof eta !== 'number' || eta <= now_s) return <>{etaWords({ eta, eta_reason }, now_s)}</>
  return (
    <>
      ends about{' '}
      <strong>
        <Time at={eta} now={now_s} />
      </strong>
      , {timeLeft(eta - now_s)} left
    </>
  )
}

/** The part of an open run that is done; nothing where it is unknown. */
export function RunProgress({ run }: { run: ExecutionSummary }) {
  const done = progressAt(run, now.value / 1000)
  return done === null ? null : (
    <progress max="1" value={done} title={`${Math.round(done * 100)} %`} aria-label={`${run.workflow_name}, part that is done`} />
  )
}

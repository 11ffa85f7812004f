// The failures that are over and that nobody has acknowledged: a grey line each, below Needs you.

import { Act } from './parts.tsx'
import { ask, now, solved } from './store.tsx'
import { Time } from './time.tsx'

const mostLines = 3

export function SolvedLines() {
  const all = solved.value
  if (all.length === 0) return null
  const acknowledge = async () => {
    for (const { incident_id } of all) {
      const answer = await ask('acknowledgeIncident', { path: { incident_id }, body: {} }, { quiet: true })
      if (!answer) return
    }
  }
  return (
    <section class="solved" aria-label="Solved">
      <ul>
        {all.slice(0, mostLines).map(({ incident_id, at, text }) => (
          <li key={incident_id}>
            {text} <Time at={at} now={now.value / 1000} />
          </li>
        ))}
        {all.length > mostLines && <li>and {all.length - mostLines} more</li>}
      </ul>
      <Act label={all.length > 1 ? 'Acknowledge all' : 'Acknowledge'} kind="quiet" onPress={acknowledge} />
    </section>
  )
}

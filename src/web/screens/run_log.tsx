// The log of a run: steps in the words of an operator, with values, decisions and incidents; the states of the engine behind a switch.

import { useSignal } from '@preact/signals'
import { Empty } from '../parts.tsx'
import { entriesOf } from '../run_log.ts'
import type { RecordRow } from '../run_record.tsx'
import { Time } from '../time.tsx'
import { EventList } from './events.tsx'

const mostShown = 300

type LogProps = {
  execution_id: string
  /** The rows of the record; undefined while they are fetched. */
  rows: readonly RecordRow[] | undefined
  /** Whether the run has a record: one that is planned only has the states of the engine alone. */
  hasRecord: boolean
  onOpen: (action_id: string) => unknown
}

export function RunLog({ execution_id, rows, hasRecord, onOpen }: LogProps) {
  const showsEngine = useSignal(!hasRecord)
  return (
    <section aria-label="Log">
      <div class="row">
        <h3>Log</h3>
        {hasRecord && (
          <button type="button" class="quiet" aria-pressed={showsEngine.value} onClick={() => (showsEngine.value = !showsEngine.value)}>
            {showsEngine.value ? 'Hide engine states' : 'Show engine states'}
          </button>
        )}
      </div>
      {showsEngine.value ? <EventList execution_id={execution_id} /> : <Entries rows={rows} onOpen={onOpen} />}
    </section>
  )
}

function Entries({ rows, onOpen }: Pick<LogProps, 'rows' | 'onOpen'>) {
  const text = useSignal('')
  if (!rows) return <Empty>Loading the log …</Empty>
  const words = text.value.toLowerCase()
  const all = entriesOf(rows).reverse()
  const found = words ? all.filter((entry) => entry.text.toLowerCase().includes(words)) : all
  return (
    <>
      {all.length > 20 && (
        <label class="row search">
          Search <input type="search" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
      )}
      {found.length === 0 && <Empty>{words ? 'Nothing in the log matches.' : 'Nothing has happened yet.'}</Empty>}
      <ol class="log" aria-label="Log, the newest first">
        {found.slice(0, mostShown).map(({ id, at, text, tone, action_id }) => (
          <li key={id} class={tone}>
            <Time at={at} />
            {action_id === undefined ? (
              <span class="long">{text}</span>
            ) : (
              <button type="button" class="quiet long" onClick={() => onOpen(action_id)}>
                {text}
              </button>
            )}
          </li>
        ))}
      </ol>
      {found.length > mostShown && <p class="hint">{found.length - mostShown} earlier lines are in the report.</p>}
    </>
  )
}

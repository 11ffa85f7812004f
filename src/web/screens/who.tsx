// The screen Who did what: the audit trail in words, with filters, pages and files for other programs.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Operations } from '../../clients/ts/benchd.ts'
import { Act, Choice, Empty, namesOf } from '../parts.tsx'
import { ask, bench, download, mayAdminister, state } from '../store.tsx'
import { Author, Time } from '../time.tsx'

type Answer = Operations['getAudit']['answer']
type Entry = Answer['entries'][number]
type Filter = { who: string; device_id: string; text: string; span: string; outcome: string }

const page = 50
/** The entries of a file: more than the service keeps in memory. */
const all = 10_000
/** The choices of the time span, by seconds. */
const spans: Record<string, string> = { '': 'always', 3600: 'last hour', 86400: 'last day', 604800: 'last week' }
const outcomes: Record<string, string> = { '': 'everything', done: 'done', refused: 'refused' }

const marks: Record<string, { word: string; mark: string; tone: string }> = {
  done: { word: 'done', mark: '✓', tone: 'good' },
  accepted: { word: 'begun', mark: '▶', tone: 'busy' },
  refused: { word: 'refused', mark: '■', tone: 'bad' },
  failed: { word: 'failed', mark: '✕', tone: 'bad' },
}

export function WhoScreen() {
  const filter = useSignal<Filter>({ who: '', device_id: '', text: '', span: '', outcome: '' })
  const found = useEntries(filter)
  if (!mayAdminister.value)
    return (
      <section aria-label="Who did what">
        <h2>Who did what</h2>
        <Empty>This list needs a key of scope admin.</Empty>
      </section>
    )
  const { entries, next } = found.value
  return (
    <section aria-label="Who did what">
      <h2>Who did what</h2>
      <Filters filter={filter} entries={entries ?? []} onRefresh={found.read} />
      {entries === undefined ? (
        <Empty>Loading the list …</Empty>
      ) : entries.length === 0 ? (
        <Empty>{isFiltered(filter.value) ? 'No entry matches the filter.' : 'Nobody has changed anything yet.'}</Empty>
      ) : (
        <ol class="events who" aria-label="Entries, the newest first">
          {entries.map((entry) => (
            <Line key={entry.hash} entry={entry} />
          ))}
        </ol>
      )}
      {next !== null && <Act label="Show older entries" free onPress={found.more} />}
    </section>
  )
}

function Line({ entry }: { entry: Entry }) {
  const { at, name, operator, text, outcome, times, left_out } = entry
  const { word, mark, tone } = marks[outcome ?? (entry.file === 'audit.jsonl' ? 'done' : 'refused')]!
  return (
    <li>
      <Time at={at} />
      <details>
        <summary>
          <span class={`state ${tone}`}>
            <span aria-hidden="true">{mark}</span> {word}
          </span>{' '}
          <Author by={name} operator={operator} /> <span class="long">{text}</span>
          {times && <small> {times} times</small>}
          {left_out && <small> after {left_out} that were left out</small>}
        </summary>
        <pre>{JSON.stringify(entry, null, 2)}</pre>
      </details>
    </li>
  )
}

type Found = { entries: Entry[] | undefined; next: string | null }

/** Fetches the entries that match the filter, the newest first; `more` adds the next page. Typing is followed after a pause. */
function useEntries(filter: Signal<Filter>) {
  const found = useSignal<Found>({ entries: undefined, next: null })
  const asked = JSON.stringify(filter.value)
  const read = async () => {
    const answer = await ask('getAudit', { query: { ...queryOf(filter.value), limit: page } }, { quiet: true })
    // An answer to an earlier filter comes too late.
    if (answer && asked === JSON.stringify(filter.value)) found.value = { entries: answer.entries.toReversed(), next: answer.next }
  }
  const more = async () => {
    const { entries = [], next } = found.value
    const answer = await ask('getAudit', { query: { ...queryOf(filter.value), limit: page, before: next } }, { quiet: true })
    if (answer) found.value = { entries: [...entries, ...answer.entries.toReversed()], next: answer.next }
  }
  useEffect(() => {
    if (!bench.value || !mayAdminister.value) return
    const timer = setTimeout(read, found.peek().entries === undefined ? 0 : 250)
    return () => clearTimeout(timer)
  }, [asked, mayAdminister.value])
  return Object.assign(found, { read, more })
}

function queryOf({ who, device_id, text, span, outcome }: Filter): Record<string, string | number> {
  const since = span && state.value.time - Number(span)
  return Object.fromEntries(Object.entries({ who, device_id, text, outcome, since }).filter(([, value]) => value !== ''))
}

function isFiltered(filter: Filter): boolean {
  return Object.values(filter).some((value) => value !== '')
}

type FilterProps = { filter: Signal<Filter>; entries: readonly Entry[]; onRefresh: () => unknown }

function Filters({ filter, entries, onRefresh }: FilterProps) {
  const { who, device_id, text, span, outcome } = filter.value
  const set = (change: Partial<Filter>) => {
    filter.value = { ...filter.value, ...change }
  }
  const names = [...new Set(entries.flatMap(({ name, operator }) => [operator, name].filter((one) => typeof one === 'string')))].sort()
  const keep = (type: 'csv' | 'json') => {
    const headers = { Accept: type === 'csv' ? 'text/csv' : 'application/json' }
    return download('getAudit', { query: { ...queryOf(filter.value), limit: all }, headers }, `who-did-what.${type}`)
  }
  return (
    <div class="row filters">
      <label class="search">
        Search <input type="search" value={text} onInput={(event) => set({ text: event.currentTarget.value })} />
      </label>
      <label class="search">
        Person or key <input type="search" list="people" value={who} onInput={(event) => set({ who: event.currentTarget.value })} />
        <datalist id="people">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <Choice
        label="Device"
        value={device_id}
        onChange={(device_id) => set({ device_id })}
        choices={{ '': 'all', ...namesOf(Object.keys(state.value.device)) }}
      />
      <Choice label="Since" value={span} onChange={(span) => set({ span })} choices={spans} />
      <Choice label="Outcome" value={outcome} onChange={(outcome) => set({ outcome })} choices={outcomes} />
      <Act label="Refresh" name="Refresh who did what" free onPress={onRefresh} />
      <Act label="CSV" name="Download these entries as CSV" free onPress={() => keep('csv')} />
      <Act label="JSON" name="Download these entries as JSON" free onPress={() => keep('json')} />
    </div>
  )
}

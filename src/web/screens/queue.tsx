// The screen Queue: the runs that wait, in order, and why each waits. People move them by dragging a row, or by its buttons.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Operations } from '../../clients/ts/api.ts'
import { modeWords } from '../../clients/ts/benchd.ts'
import { Act, devicesMayMove, Empty } from '../parts.tsx'
import { noTime, StartFields, startOf, useStart } from '../queue_start.tsx'
import { ask, bench, link, movesNothingReal, refusal } from '../store.tsx'
import { Author, Time } from '../time.tsx'
import { sentence } from '../words.ts'

type Queue = Operations['getQueue']['answer']
type Entry = Queue['entries'][number]

/** The queue has no events of its own, so it is asked for. */
const poll_ms = 2000
/** The rows that are shown at once. */
const mostShown = 100

export function QueueScreen() {
  const { queue, read } = useQueue()
  const many = useSignal(mostShown)
  if (!queue) return <Empty>Loading the queue …</Empty>
  const shown = queue.entries.slice(0, many.value)
  return (
    <section aria-label="Queue" class="runs">
      <div class="row">
        <h2>Queue</h2>
        <a class="button plain" href="#/runs/new">
          New run
        </a>
        {queue.paused ? (
          <Resume since={queue.paused.since} read={read} />
        ) : (
          <Act label="Pause the queue" onPress={() => ask('pauseQueue').then(read)} />
        )}
        {queue.waiting > 0 && (
          <Act label="Remove all" twice="Remove every entry that waits: press again" onPress={() => ask('clearQueue').then(read)} />
        )}
      </div>
      {queue.paused && <Paused {...queue.paused} />}
      {shown.length === 0 ? (
        <Empty>No run waits. “New run” has the button “Add to the queue”.</Empty>
      ) : (
        <Entries entries={shown} all={queue.entries} waiting={queue.waiting} read={read} />
      )}
      {queue.entries.length > shown.length && (
        <button type="button" class="plain" onClick={() => (many.value += mostShown)}>
          Show more
        </button>
      )}
      {queue.ended.length > 0 && <Ended ended={queue.ended} />}
    </section>
  )
}

function useQueue() {
  const queue = useSignal<Queue | undefined>(undefined)
  const read = async () => {
    const answer = await bench.value?.call('getQueue').catch(() => undefined)
    if (answer && answer.version !== queue.peek()?.version) queue.value = answer
  }
  useEffect(() => {
    void read()
    const timer = setInterval(() => {
      if (!document.hidden && link.value === 'live') void read()
    }, poll_ms)
    return () => clearInterval(timer)
  }, [])
  return { queue: queue.value, read }
}

function Resume({ since, read }: { since: number; read(): Promise<void> }) {
  return (
    <Act
      label="Resume the queue"
      kind="main"
      twice={movesNothingReal.value ? undefined : devicesMayMove}
      onPress={() => ask('resumeQueue', { body: { since } }).then(read)}
    />
  )
}

function Paused({ since, message }: NonNullable<Queue['paused']>) {
  return (
    <p class="notice" role="status">
      <span class="long">
        <strong>The queue is paused</strong> since <Time at={since} />. {sentence(onScreen(message))}
      </span>
    </p>
  )
}

/** `entries` are those of `all` that are shown. */
type EntriesProps = { entries: readonly Entry[]; all: readonly Entry[]; waiting: number; read(): Promise<void> }

function Entries({ entries, all, waiting, read }: EntriesProps) {
  const dragged = useSignal<string | undefined>(undefined)
  const inLine = all.filter(({ state }) => state === 'waiting')
  return (
    <ol class="checks" aria-label="Entries of the queue">
      {entries.map((entry) => (
        <Row
          key={entry.entry_id}
          entry={entry}
          {...{ dragged, waiting, read }}
          above={inLine[(entry.number ?? 0) - 2]?.entry_id}
          belowNext={inLine[(entry.number ?? 0) + 1]?.entry_id}
        />
      ))}
    </ol>
  )
}

/** `above`: the entry before it. `belowNext`: the entry that comes after the next one; undefined at the end. */
type RowProps = Pick<EntriesProps, 'waiting' | 'read'> & {
  entry: Entry
  dragged: Signal<string | undefined>
  above: string | undefined
  belowNext: string | undefined
}

function Row({ entry, dragged, waiting, read, above, belowNext }: RowProps) {
  const { entry_id, number, state } = entry
  const isWaiting = state === 'waiting'
  const move = (id: string, body: object) => ask('moveInQueue', { path: { entry_id: id }, body }).then(read)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    if (dragged.value && dragged.value !== entry_id) void move(dragged.value, { before: entry_id })
    dragged.value = undefined
  }
  return (
    <li
      class="row"
      draggable={isWaiting && !refusal.value}
      onDragStart={() => (dragged.value = entry_id)}
      onDragEnd={() => (dragged.value = undefined)}
      onDragOver={(event) => isWaiting && dragged.value && event.preventDefault()}
      onDrop={isWaiting ? drop : undefined}
    >
      <EntryText {...entry} />
      {isWaiting && number !== null && (
        <div class="row">
          <Act
            label="Up"
            name={`Move number ${number} up`}
            why={number === 1 ? 'It is the first.' : undefined}
            onPress={() => move(entry_id, above ? { before: above } : { to: 'first' })}
          />
          <Act
            label="Down"
            name={`Move number ${number} down`}
            why={number === waiting ? 'It is the last.' : undefined}
            onPress={() => move(entry_id, belowNext ? { before: belowNext } : { to: 'last' })}
          />
          <Changes {...entry} read={read} />
        </div>
      )}
    </li>
  )
}

function Changes({ entry_id, number, run_mode, start_at, read }: Entry & { read(): Promise<void> }) {
  return (
    <>
      <Act
        label="Start now"
        name={`Start number ${number} now`}
        twice={run_mode === 'LIVE' && !movesNothingReal.value ? devicesMayMove : undefined}
        onPress={() => ask('startQueueEntry', { path: { entry_id } }).then(read)}
      />
      <OtherStart {...{ entry_id, number, start_at, read }} />
      <Act
        label="Remove"
        name={`Remove number ${number}`}
        twice="Remove it: press again"
        onPress={() => ask('removeFromQueue', { path: { entry_id } }).then(read)}
      />
    </>
  )
}

type OtherStartProps = Pick<Entry, 'entry_id' | 'number' | 'start_at'> & { read(): Promise<void> }

/** Gives an entry another start. */
function OtherStart({ entry_id, number, start_at, read }: OtherStartProps) {
  const isOpen = useSignal(false)
  const save = async (start_at: ReturnType<typeof startOf>) => {
    if (await ask('moveInQueue', { path: { entry_id }, body: { start_at } })) isOpen.value = false
    await read()
  }
  return (
    <>
      <button
        type="button"
        class="quiet"
        aria-expanded={isOpen.value}
        aria-label={`Another start for number ${number}`}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        Another start
      </button>
      {isOpen.value && <StartForm own={entry_id} present={start_at} save={save} />}
    </>
  )
}

type StartFormProps = { own: string; present: Entry['start_at']; save(start_at: ReturnType<typeof startOf>): Promise<void> }

function StartForm({ own, present, save }: StartFormProps) {
  const start = useStart(present)
  const start_at = startOf(start)
  return (
    <div class="fields">
      <StartFields {...start} own={own} />
      <Act label="Save the start" why={noTime(start_at)} onPress={() => save(start_at)} />
    </div>
  )
}

function EntryText({ number, workflow, run_mode, execution_id, needs_person, added_at, added_by, ...its }: Entry) {
  const { groups, priority, requires, on_failure, may_be_passed } = its
  const required = [...(requires.devices ?? []), ...(requires.labware ?? [])]
  const more = [
    modeWords[run_mode],
    groups > 0 && (groups === 1 ? 'one group' : `${groups} groups`),
    priority !== 0 && `priority ${priority}`,
    required.length > 0 && `needs ${required.join(' and ')}`,
    on_failure === 'go_on' && 'the queue goes on if it fails',
    may_be_passed && 'later ones may begin before it',
  ]
  return (
    <span class="long">
      {number === null ? '▶' : `${number}.`}{' '}
      {execution_id ? <a href={`#/runs/${execution_id}`}>{workflow}</a> : <strong>{workflow}</strong>}{' '}
      <small>
        {more.filter(Boolean).join(', ')}; added by <Author {...added_by} />, <Time at={added_at} />
      </small>
      <br />
      <span class={needs_person ? 'bad' : undefined}>
        {needs_person && '▲ '}
        <Why {...its} />
      </span>
    </span>
  )
}

/** Says why an entry waits. A plain start is shown in the zone of this computer. */
function Why({ state, start_at, why_it_waits }: Pick<Entry, 'state' | 'start_at' | 'why_it_waits'>) {
  if (state !== 'waiting') return <>It runs.</>
  if (typeof start_at === 'number' && (why_it_waits === null || /^it starts at [^,;]*$/.test(why_it_waits)))
    return (
      <>
        It starts at <Time at={start_at} />.
      </>
    )
  return <>{sentence(onScreen(why_it_waits ?? 'it waits for its turn'))}</>
}

/** Replaces the routes of the queue by the buttons of this screen. */
function onScreen(why: string): string {
  return why
    .replace(/a person with a key .*: POST \/api\/queue\/resume/, 'press “Resume the queue”')
    .replace(/start it now \(POST [^)]*\), or give it another start \([^)]*\)/, 'press “Start now” or “Another start”')
    .replace(/start it \(POST [^)]*\), or remove it \([^)]*\)/, 'press “Start now” or “Remove”')
}

function Ended({ ended }: Pick<Queue, 'ended'>) {
  return (
    <details class="changes">
      <summary>Ended: {ended.length}</summary>
      <ul class="checks">
        {ended.map(({ entry_id, workflow, execution_id, outcome, ended_at }) => (
          <li key={entry_id} class="row">
            <span>
              {execution_id ? <a href={`#/runs/${execution_id}`}>{workflow}</a> : workflow}{' '}
              {outcome?.toLowerCase() ?? 'ended, nobody knows how'}, <Time at={ended_at} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

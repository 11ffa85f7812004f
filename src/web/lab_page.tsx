// The page of the lab, served by its coordinator: tasks, benches, journeys, and custody of labware.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Gantt } from './gantt.tsx'
import { KeyForm } from './key_form.tsx'
import { custody, follow, type Holder, type Journey, journeys, lab, refused, said, type Task, tasks, tell, useKey } from './lab_state.tsx'
import { duration } from './words.ts'

export function LabPage() {
  useEffect(follow, [])
  return (
    <main class="lab-page">
      <header class="row">
        <h1>Lab {lab.value.answer?.name ?? ''}</h1>
        <StopAll />
      </header>
      {refused.value !== null && <KeyForm isLab why={refused.value} connect={useKey} />}
      {said.value && (
        <p class={said.value.isBad ? 'trouble' : 'hint'} role="status">
          {said.value.text}
        </p>
      )}
      <Tasks />
      <Benches />
      <Journeys />
      <Custodies />
      <p class="row">
        <a class="button" href="docs">
          API and documents
        </a>
        <a class="button" href="docs/guides/lab">
          Guide
        </a>
      </p>
    </main>
  )
}

/** Asks all benches to stop after two presses. It is not a safety function. */
function StopAll() {
  const isArmed = useSignal(false)
  const press = () => {
    if (isArmed.value) void tell('/api/lab/stop', {}, ({ message = '' }) => message)
    isArmed.value = !isArmed.value
  }
  return (
    <button
      type="button"
      class="danger"
      title="Stops the benches over the network. Not a safety function"
      onClick={press}
      onBlur={() => (isArmed.value = false)}
    >
      {isArmed.value ? 'Press again to stop all benches' : 'Stop all benches'}
    </button>
  )
}

/** The failure of a part, above its last known content. */
function Failure({ of }: { of: { failure: string | null } }) {
  return of.failure === null ? null : (
    <p class="trouble" role="alert">
      {of.failure}
    </p>
  )
}

function Tasks() {
  const { answer, failure } = tasks.value
  return (
    <section aria-label="Tasks">
      <h2>Tasks</h2>
      <Failure of={{ failure }} />
      {answer?.tasks.length === 0 && <p class="hint">No labware waits to be carried.</p>}
      {answer?.tasks.map((task) => (
        <TaskCard key={task.task_id} task={task} />
      ))}
    </section>
  )
}

function TaskCard({ task: { task_id, kind, labware, what } }: { task: Task }) {
  const barcode = useSignal('')
  const isPlaced = kind === 'place' || kind === 'bring'
  const confirm = (event: Event) => {
    event.preventDefault()
    const body = isPlaced ? { barcode: barcode.value.trim() } : {}
    void tell(`/api/lab/tasks/${task_id}/confirm`, body, ({ message = '' }) => message)
  }
  return (
    <form class="need" aria-label={what} onSubmit={confirm}>
      <h3>{what}</h3>
      <div class="row">
        {isPlaced && (
          <input
            aria-label={`Barcode that was read of ${labware}`}
            placeholder="Barcode"
            autocomplete="off"
            required
            value={barcode.value}
            onInput={(event) => (barcode.value = event.currentTarget.value)}
          />
        )}
        <button type="submit" class="main">
          {isPlaced ? 'Placed' : 'Taken'}
        </button>
      </div>
    </form>
  )
}

function Benches() {
  const { answer, failure } = lab.value
  return (
    <section aria-label="Benches">
      <h2>Benches</h2>
      <Failure of={{ failure }} />
      <ul class="list">
        {answer?.benches.map(({ bench, url, status, failure, other_version, heard_s }) => (
          <li key={bench}>
            <span>
              <strong>
                {url === null ? (
                  bench
                ) : (
                  <a href={url} rel="noreferrer">
                    {bench}
                  </a>
                )}
              </strong>{' '}
              <span class={`state ${status === 'ok' ? 'good' : 'bad'}`}>{status}</span> <small>{failure ?? other_version}</small>{' '}
              {heard_s !== null && <small>heard {duration(heard_s)} ago</small>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Journeys() {
  const { answer, failure } = journeys.value
  const open = answer?.journeys.filter(({ outcome }) => outcome === null) ?? []
  const ended = answer?.journeys.filter(({ outcome }) => outcome !== null) ?? []
  return (
    <section aria-label="Journeys">
      <h2>Journeys</h2>
      <Failure of={{ failure }} />
      <NewJourney />
      <ul class="list">
        {open.map((journey) => (
          <JourneyLine key={journey.journey_id} journey={journey} />
        ))}
        {ended.slice(0, 10).map((journey) => (
          <JourneyLine key={journey.journey_id} journey={journey} />
        ))}
      </ul>
      <Lanes journeys={[...open, ...ended.slice(0, 5)]} />
    </section>
  )
}

function NewJourney() {
  const names = lab.value.answer?.journeys ?? []
  const name = useSignal('')
  const labware = useSignal('')
  const start = async (event: Event) => {
    event.preventDefault()
    const body = { journey: name.value || names[0], labware: labware.value.trim() }
    if (await tell('/api/lab/journeys', body, () => `The journey of ${body.labware} has begun.`)) labware.value = ''
  }
  return (
    <form class="row" aria-label="New journey" onSubmit={start}>
      <select aria-label="Journey" value={name.value || names[0]} onChange={(event) => (name.value = event.currentTarget.value)}>
        {names.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <input
        aria-label="Barcode of the labware"
        placeholder="Barcode of the labware"
        autocomplete="off"
        required
        value={labware.value}
        onInput={(event) => (labware.value = event.currentTarget.value)}
      />
      <button type="submit" class="main">
        Start journey
      </button>
    </form>
  )
}

const decisionWords: Readonly<Record<string, string>> = {
  retry: 'Retry the step',
  back: 'It is back where the carrier took it',
  lost: 'It is lost: end the journey',
  end: 'End the journey',
}

function JourneyLine({ journey }: { journey: Journey }) {
  const { journey_id, name, labware, status, step, leg, legs, waiting, needs_person, decisions, outcome } = journey
  const { bench } = legs[leg - 1] ?? legs[0]!
  const tone = needs_person ? 'bad' : outcome === 'done' ? 'good' : 'calm'
  const decide = (decision: string) => tell(`/api/lab/journeys/${journey_id}/decide`, { decision, step }, () => `${labware}: ${decision}`)
  return (
    <li>
      <span>
        <strong>{labware}</strong> {name} <span class={`state ${tone}`}>{outcome ?? status}</span>{' '}
        <small>
          {outcome === null ? `leg ${leg} of ${legs.length}, ${bench}: ` : ''}
          {waiting}
        </small>
        {needs_person && (
          <span class="row">
            {decisions
              .filter((decision) => decision in decisionWords)
              .map((decision) => (
                <button key={decision} type="button" class={decision === 'retry' ? 'main' : 'plain'} onClick={() => void decide(decision)}>
                  {decisionWords[decision]}
                </button>
              ))}
          </span>
        )}
      </span>
    </li>
  )
}

/** The journeys over time: a lane for each bench and each carrier. */
function Lanes({ journeys }: { journeys: readonly Journey[] }) {
  const all = journeys.flatMap(({ labware, bars }) => bars.map((bar) => ({ ...bar, labware })))
  if (all.length === 0) return null
  const from = Math.min(...all.map((bar) => bar.from))
  const bars = all
    .filter(({ what }) => ['place', 'work', 'take', 'bring', 'ready'].includes(what))
    .map(({ lane, labware, what, from: began, to }, i) => ({
      thread: lane,
      id: String(i),
      kind: 'action' as const,
      label: `${labware} ${what}`,
      from_s: began - from,
      to_s: to - from,
      tone: 'done' as const,
    }))
  const lanes = [...new Set(bars.map(({ thread }) => thread))]
    .sort()
    .map((thread) => ({ thread, plan: [], bars: bars.filter((bar) => bar.thread === thread) }))
  const until = Math.max(...all.map(({ to }) => to)) - from
  return <Gantt lanes={lanes} end_s={Math.max(1, until)} label="Journeys by bench and carrier" />
}

function Custodies() {
  const { answer, failure } = custody.value
  return (
    <section aria-label="Custody">
      <h2>Custody of labware</h2>
      <Failure of={{ failure }} />
      {answer?.custody.length === 0 && <p class="hint">No labware is tracked yet.</p>}
      <ul class="list">
        {answer?.custody.map(({ labware, holder, at }) => (
          <li key={labware}>
            <span>
              <strong>{labware}</strong> {holderWords(holder)} <small>for {duration(Math.max(0, Date.now() / 1000 - at))}</small>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function holderWords(holder: Holder): string {
  if ('bench' in holder) return `on ${holder.bench}, at ${holder.position}`
  return 'carrier' in holder ? `with ${holder.carrier}` : holder.nobody
}

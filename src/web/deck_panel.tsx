// The panel beside the picture of the deck: the journey of a plate, or what a place holds and may hold.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { GetLabwareHistoryResponse, Topology } from '../clients/ts/benchd.ts'
import type { Chosen } from './deck_picture.tsx'
import { contentOf, type Position, type Standing, threadName } from './deck_state.ts'
import { MorePart } from './more_part.tsx'
import { ShowAll, useAnswer } from './parts.tsx'
import { labwareWords } from './storage.ts'
import { now, state } from './store.tsx'
import { threadColour } from './thread_colours.ts'
import { clockTime, deviceWords, duration, sentence, threadWord } from './words.ts'

type PanelProps = {
  topology: Topology
  chosen: Chosen
  /** The names of the teachpoints of each arm. */
  taught: Readonly<Record<string, object>>
  side: 'left' | 'right'
  onChoose: (chosen: Chosen | undefined) => void
}

export function DeckPanel({ topology, chosen, taught, side, onChoose }: PanelProps) {
  const position = topology.positions.find(({ name }) => name === chosen.id)
  const labware = state.value.labware[chosen.id]
  const props = { topology, onChoose }
  const isPlate = chosen.kind === 'labware'
  const title = isPlate ? labware && labwareWords(labware) : position?.name
  return (
    <Aside title={title ?? 'Gone'} side={side} onClose={() => onChoose(undefined)}>
      {isPlate && labware && <AboutPlate key={labware.labware_id} its={labware} {...props} />}
      {!isPlate && position && <AboutPlace key={position.name} position={position} taught={taught} {...props} />}
      {!title && <p>It has left the deck.</p>}
    </Aside>
  )
}

type AsideProps = { title: string; side: string; onClose: () => void; children: ComponentChildren }

/** Takes the focus when it opens, and gives it back when it is closed, also by Escape. */
function Aside({ title, side, onClose, children }: AsideProps) {
  const its = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement as (HTMLElement & SVGElement) | null
    its.current?.querySelector<HTMLElement>('button')?.focus({ preventScroll: true })
    const close = ({ key }: KeyboardEvent) => key === 'Escape' && onClose()
    addEventListener('keydown', close)
    return () => {
      removeEventListener('keydown', close)
      before?.focus({ preventScroll: true })
    }
  }, [])
  return (
    <aside class={`deck-panel ${side}`} ref={its} aria-label={`About ${title}`}>
      <header>
        <h3>{title}</h3>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </aside>
  )
}

type PlateProps = { its: Standing; topology: Topology; onChoose: PanelProps['onChoose'] }

function AboutPlate({ its, topology, onChoose }: PlateProps) {
  const { thread_id, thread_name, execution_id, left_by, position, place, type, tips_left, labware_id } = its
  const thread = state.value.thread[thread_id ?? '']
  const run_id = execution_id ?? left_by
  return (
    <>
      {thread_name !== null && (
        <p class="of-thread">
          <span aria-hidden="true" style={{ background: threadColour(thread_name) }} /> Thread {thread_name}
          {thread?.group_id && `, group ${thread.group_id}`}
        </p>
      )}
      <p>
        {sentence(`${type}, ${place}${tips_left === null ? '' : `, ${tips_left} tips left`}`)}
        {thread && ` It ${threadWord(thread.status)}.`}
      </p>
      {thread?.waiting && (
        <p>
          It waits for {thread.waiting.what}, for {duration(now.value / 1000 - thread.waiting.since)}.
        </p>
      )}
      <p class="row">
        {run_id && (
          <a class="button" href={`#/runs/${run_id}`}>
            {execution_id ? `Run of ${state.value.run[run_id]?.workflow_name ?? 'it'}` : 'The run that left it here'}
          </a>
        )}
        {position !== null && (
          <button type="button" onClick={() => onChoose({ kind: 'place', id: position })}>
            About {position}
          </button>
        )}
      </p>
      <Journey labware_id={labware_id} place={place} />
      <MorePart show={({ SomebodyMovedIt }) => <SomebodyMovedIt its={its} positions={topology.positions} />} />
    </>
  )
}

const shownSteps = 6

/** The journey of a plate through the runs that are kept, the newest first. */
function Journey({ labware_id, place }: { labware_id: string; place: string }) {
  const showsAll = useSignal(false)
  const found = useAnswer('getLabwareHistory', { path: { barcode: labware_id }, query: { limit: 100 } }, [labware_id, place])
  const steps = (found.value?.steps ?? []).filter(({ from, to }) => from === null || from !== to)
  const shown = showsAll.value ? steps : steps.slice(0, shownSteps)
  return (
    <section aria-label="Journey">
      <h4>Journey</h4>
      {steps.length === 0 && <p class="hint">No stored run has moved it.</p>}
      <ol class="journey">
        {shown.map((step, i) => (
          <Step key={i} step={step} />
        ))}
      </ol>
      <ShowAll of={showsAll} rest={steps.length - shown.length} />
    </section>
  )
}

function Step({ step: { at, text, outcome } }: { step: GetLabwareHistoryResponse['steps'][number] }) {
  return (
    <li>
      <time>{clockTime(at, now.value / 1000)}</time> {sentence(text)}
      {outcome !== null && outcome !== 'COMPLETED' && <strong class="bad"> {outcome.toLowerCase()}</strong>}
    </li>
  )
}

type PlaceProps = Pick<PanelProps, 'topology' | 'taught' | 'onChoose'> & { position: Position }

function AboutPlace({ position, topology, taught, onChoose }: PlaceProps) {
  const { name, device, parking, storage, handover, labware, reserved_for } = position
  const { thread, device: devices } = state.value
  const its = devices[device ?? '']
  const reserved = threadName(reserved_for, { thread })
  const run_id = thread[reserved_for ?? '']?.execution_id
  const arms = topology.transporters.filter(({ positions }) => positions.includes(name)).map(({ device_id }) => device_id)
  const robots = arms.filter((id) => devices[id] && devices[id].driver !== 'person')
  const uses = [...(parking ? ['parking'] : []), ...(storage ? ['storage'] : []), ...(handover ? ['a handover between benches'] : [])]
  return (
    <>
      <p>
        {sentence(contentOf({ ...position, parking: false, storage: false }, reserved))} One labware can stand here.
        {uses.length > 0 && ` It serves as ${uses.join(' and ')}.`}
      </p>
      <p>Reached by {arms.join(' and ') || 'no arm'}.</p>
      {its && (
        <p class={`state ${deviceWords[its.state].tone}`}>
          {its.device_id}: <span aria-hidden="true">{deviceWords[its.state].mark}</span> {deviceWords[its.state].word}
        </p>
      )}
      <p class="row">
        {labware && (
          <button type="button" onClick={() => onChoose({ kind: 'labware', id: labware.labware_id })}>
            About {labwareWords(labware)}
          </button>
        )}
        {run_id && (
          <a class="button" href={`#/runs/${run_id}`}>
            Run of {reserved}
          </a>
        )}
        {its && (
          <a class="button" href={`#/devices/${its.device_id}`}>
            Show {its.device_id}
          </a>
        )}
        {robots.map((id) => (
          <a key={id} class="button" href={`#/teach/${id}/${encodeURIComponent(name)}`}>
            {name in (taught[id] ?? {}) ? 'Teach' : 'Not taught: teach'} {name} of {id}
          </a>
        ))}
      </p>
    </>
  )
}

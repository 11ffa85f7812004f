// The screen Deck: a live picture of the bench, the same as a list, and the panel of what was tapped.

import { type Signal, signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Topology } from '../../clients/ts/benchd.ts'
import { type DeckLayout, layoutDeck, type Point, type Room } from '../deck_layout.ts'
import { DeckPanel } from '../deck_panel.tsx'
import { type Chosen, DeckPicture } from '../deck_picture.tsx'
import { armOf, drawnTopology, placeWords, threadName } from '../deck_state.ts'
import { Act, Empty, useAnswer } from '../parts.tsx'
import { labwareWords } from '../storage.ts'
import { ask, bench, state } from '../store.tsx'

export function DeckScreen() {
  const [topology] = Object.values(state.value.topology)
  return topology ? <Deck key={topology.name} topology={drawnTopology(topology)} /> : <NoTopology />
}

type Points = Record<string, Record<string, Point>>

function Deck({ topology }: { topology: Topology }) {
  const figure = useRef<HTMLElement>(null)
  const room = useRoom(figure)
  const chosen = useSignal<Chosen | undefined>(undefined)
  const taught = useTeachpoints(topology)
  // The places of a topology stay, whatever stands there.
  const places = topology.positions.map(({ name, device }) => `${name} ${device}`).join()
  const layout = useMemo(
    () => room.value && taught && layoutDeck({ ...topology, points: withPlane(taught) }, room.value),
    [places, room.value, taught],
  )
  const choose = useMemo(() => (next: Chosen | undefined) => (chosen.value = next), [])
  return (
    <section class="deck-screen" aria-label="Deck">
      <h2 class="unseen">Deck</h2>
      <figure ref={figure}>
        {layout && <DeckPicture topology={topology} layout={layout} chosen={chosen.value} onChoose={choose} />}
        {layout && chosen.value && (
          <DeckPanel
            topology={topology}
            chosen={chosen.value}
            taught={taught ?? {}}
            side={sideFor(chosen.value, layout)}
            onChoose={choose}
          />
        )}
      </figure>
      <p class="hint deck-key">
        <span class="key-free">free</span> <span class="key-kept">reserved</span> <span>Colours of plates: their threads.</span>
        {layout && layout.px_per_mm === undefined && <span>Not to scale: coordinates or room are missing.</span>}
      </p>
      <AsList topology={topology} />
      <details>
        <summary>Topology {topology.name}</summary>
        <Act
          label="Unload topology"
          twice="Unload topology: press again"
          onPress={() => ask('unloadTopology', { body: { force: false } })}
        />
        <a class="button quiet" href={`#/topologies/${topology.name}`}>
          Versions of {topology.name}
        </a>
      </details>
    </section>
  )
}

/** Measures the room from the top of the screen to the lower edge of the window, without the tasks above it. */
function useRoom(figure: { current: HTMLElement | null }): Signal<Room | undefined> {
  const room = useMemo(() => signal<Room | undefined>(undefined), [])
  useEffect(() => {
    const measure = () => {
      const main = figure.current?.closest('main')
      if (!main || !figure.current) return
      const style = getComputedStyle(main)
      const top = main.offsetTop + Number.parseFloat(style.paddingTop)
      const next = {
        width: figure.current.clientWidth,
        height: Math.max(240, innerHeight - top - 4),
        em: Number.parseFloat(getComputedStyle(document.documentElement).fontSize),
      }
      if (JSON.stringify(next) !== JSON.stringify(room.value)) room.value = next
    }
    const watch = new ResizeObserver(measure)
    watch.observe(figure.current!)
    addEventListener('resize', measure)
    return () => {
      watch.disconnect()
      removeEventListener('resize', measure)
    }
  }, [])
  return room
}

/** Fetches the teachpoints of the arms of the topology. An arm without an answer counts as one without teachpoints. */
function useTeachpoints({ name, transporters }: Topology): Points | undefined {
  const found = useSignal<Points | undefined>(undefined)
  useEffect(() => {
    const robots = transporters.filter(({ device_id }) => state.peek().device[device_id]?.driver !== 'person')
    const listed = robots.map(async ({ device_id }) => {
      const answer = await bench
        .peek()
        ?.call('listTeachpoints', { query: { device_id } as never })
        .catch(() => undefined)
      return [device_id, Object.fromEntries((answer?.teachpoints ?? []).map(({ name, coords }) => [name, coords as Point]))] as const
    })
    void Promise.all(listed).then((all) => (found.value = Object.fromEntries(all)))
  }, [name])
  return found.value
}

/** Leaves out teachpoints of joints, which have no x and y. */
function withPlane(points: Points): Points {
  const plane = Object.entries(points).map(([id, own]) => [id, Object.fromEntries(Object.entries(own).filter(([, at]) => 'x' in at))])
  return Object.fromEntries(plane.filter(([, own]) => Object.keys(own!).length > 0))
}

/** The side of the picture that does not hide what was tapped. */
function sideFor({ kind, id }: Chosen, { places, width }: DeckLayout): 'left' | 'right' {
  const box = places.get(kind === 'place' ? id : (state.value.labware[id]?.position ?? ''))
  return box && box.x + box.width / 2 > width / 2 ? 'left' : 'right'
}

/** The deck in words, which has the same as the picture. */
function AsList({ topology }: { topology: Topology }) {
  const isOpen = useSignal(false)
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>The deck as a list</summary>
      {isOpen.value && <DeckList topology={topology} />}
    </details>
  )
}

function DeckList({ topology }: { topology: Topology }) {
  const { thread, labware } = state.value
  return (
    <ul class="list" aria-label="Positions">
      {topology.transporters.map((one) => {
        const { device_id, holds, target, isPerson } = armOf(one, topology, state.value)
        const held = holds === undefined ? (isPerson ? 'empty hands' : 'gripper empty') : `holds ${labwareWords(labware[holds]!)}`
        return (
          <li key={device_id}>
            {device_id}: {held}
            {target && `, at ${target}`}
          </li>
        )
      })}
      {topology.positions.map((one) => (
        <li key={one.name}>{placeWords(one, threadName(one.reserved_for, { thread }))}</li>
      ))}
    </ul>
  )
}

function NoTopology() {
  const found = useAnswer('listTopologies')
  return (
    <section aria-label="Deck">
      <h2>Deck</h2>
      <Empty>No topology is loaded. Load the one of this bench:</Empty>
      <div class="row">
        {found.value?.topologies.map(({ name }) => (
          <Act key={name} label={`Load ${name}`} onPress={() => ask('loadTopology', { body: { name, force: false } })} />
        ))}
      </div>
    </section>
  )
}

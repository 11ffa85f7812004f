// The picture of the deck: devices, places, labware, arms and people, each drawn again only when it has changed itself.

import { Component, type ComponentChild, type ComponentChildren } from 'preact'
import type { DeviceInfo, Topology } from '../clients/ts/benchd.ts'
import { type Box, bar, type DeckLayout, type Point } from './deck_layout.ts'
import { type Arm, armOf, cut, labelOf, linesOf, placeWords, shortName, standingOn, threadName } from './deck_state.ts'
import { kindPath } from './kind_icon.tsx'
import { filledWords, labwareWords } from './storage.ts'
import { ends, state, storageOf } from './store.tsx'
import { threadColour } from './thread_colours.ts'
import { deviceWords, partWords } from './words.ts'

/** The chosen part of the picture: a position or a labware. */
export type Chosen = { kind: 'place' | 'labware'; id: string }
type PictureProps = { topology: Topology; layout: DeckLayout; chosen: Chosen | undefined; onChoose: (chosen: Chosen) => void }

/** Makes a component that is drawn again only when one of its properties is another. */
function kept<Props extends object>(draw: (props: Props) => ComponentChild) {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props) {
      return Object.entries(next).some(([name, value]) => value !== this.props[name as keyof Props])
    }
    render(props: Props) {
      return draw(props)
    }
  }
}

export function DeckPicture({ topology, layout, chosen, onChoose }: PictureProps) {
  const { device, labware, thread, step } = state.value
  const arms = topology.transporters.map((one) => armOf(one, topology, { device, labware, thread, step }))
  const reaching = arms.filter(isSomewhere)
  const holders = new Map(arms.flatMap((arm) => (arm.holds ? [[arm.holds, arm]] : [])))
  const [single, closed] = [singleFrames(topology, layout), closedPlates(labware)]
  const standing = standingOn(topology, holders).map(([its, name]) => ({ its, at: middleOf(layout.places.get(name)!) }))
  const held = [...holders].map(([id, arm]) => ({ its: labware[id]!, at: handOf(arm, layout) }))
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no fieldset
    <svg
      class="deck-map"
      font-size={layout.font}
      width={layout.width}
      height={layout.height}
      role="group"
      aria-label={`Deck of topology ${topology.name}`}
    >
      <Hatch />
      <Grid layout={layout} />
      {reaching.map((arm) => (
        <Line key={arm.device_id} base={layout.bases.get(arm.device_id)!} {...handOf(arm, layout)} pace={paceOf(device[arm.device_id])} />
      ))}
      {layout.frames.map((frame) => (
        <Frame
          key={frame.device}
          id={frame.device}
          box={frame}
          font={layout.font}
          device={device[frame.device]}
          filled={filledOf(frame.device)}
        />
      ))}
      {topology.positions.map((one) => (
        <Place
          key={one.name}
          name={one.name}
          short={shortName(one)}
          box={layout.places.get(one.name)!}
          hit={single.get(one.device ?? '') ?? layout.places.get(one.name)!}
          font={layout.font}
          isTaken={one.labware !== null}
          reserved={one.labware ? undefined : threadName(one.reserved_for, { thread })}
          words={placeWords(one, threadName(one.reserved_for, { thread }))}
          isChosen={chosen?.kind === 'place' && chosen.id === one.name}
          onChoose={onChoose}
        />
      ))}
      {reaching.map((arm) => (
        <Hand key={arm.device_id} {...handOf(arm, layout)} pace={paceOf(device[arm.device_id])} />
      ))}
      {[...standing, ...held].map(({ its, at }) => (
        <Plate
          key={its.labware_id}
          id={its.labware_id}
          label={labelOf(its)}
          thread={labware[its.labware_id]?.thread_name ?? null}
          words={`${labwareWords(its)}, ${labware[its.labware_id]?.place ?? ''}`}
          kind={closed.has(its.labware_id) ? 'closed plate' : its.kind}
          {...at}
          {...layout.plate}
          font={layout.font}
          pace={paceOf(device[holders.get(its.labware_id)?.device_id ?? ''])}
          isChosen={chosen?.kind === 'labware' && chosen.id === its.labware_id}
          onChoose={onChoose}
        />
      ))}
      {arms.map((arm) => (
        <Base
          key={arm.device_id}
          id={arm.device_id}
          at={layout.bases.get(arm.device_id)!}
          font={layout.font}
          device={device[arm.device_id]}
        />
      ))}
      <ScaleBar layout={layout} />
    </svg>
  )
}

/** The ids of the plates whose lids are on. A lid in a gripper may be off its plate already. */
function closedPlates(labware: typeof state.value.labware): ReadonlySet<string> {
  return new Set(Object.values(labware).flatMap(({ on, held_by }) => (on !== null && held_by === null ? [on] : [])))
}

function Hatch() {
  return (
    <defs>
      <pattern id="hatch" width={8} height={8} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0V8" />
      </pattern>
    </defs>
  )
}

/** Whether it is known where somebody or something reaches. A person without a task may be anywhere. */
function isSomewhere({ isPerson, target }: Arm): boolean {
  return !isPerson || target !== undefined
}

/** The frames of devices with one place, where a touch of the frame means the place. */
function singleFrames({ positions }: Topology, { frames }: DeckLayout) {
  return new Map(
    frames.filter(({ device }) => positions.filter((one) => one.device === device).length === 1).map((one) => [one.device, one]),
  )
}

/** The place of the gripper: the middle of the position, or beside the base where the position is not known. */
function handOf(arm: Arm, { places, bases }: DeckLayout): Point {
  const at = places.get(arm.target ?? '')
  const base = bases.get(arm.device_id)!
  return at ? middleOf(at) : { x: base.x + 30, y: base.y - 30 }
}

function middleOf({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 }
}

/** The most that a motion in the picture takes, in ms: an estimate may be long. */
const slowest_ms = 3000
const fastest_ms = 350

/** The duration of a motion of a busy arm in ms. */
function paceOf(device: DeviceInfo | undefined): number {
  const end = device?.operation && ends.value[device.operation.operation_id]
  const left_ms = end ? (end - performance.now()) * 0.6 : 0
  return Math.min(slowest_ms, Math.max(fastest_ms, left_ms))
}

type PressProps = { label: string; class: string; onPress: () => void; pressed: boolean; children: ComponentChildren }

/** A part of the picture that is a button. */
function Press({ label, onPress, pressed, children, ...rest }: PressProps) {
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    onPress()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button
    <g role="button" tabindex={0} aria-label={label} aria-pressed={pressed} onClick={onPress} onKeyDown={press} {...rest}>
      {children}
    </g>
  )
}

function wordOf(device: DeviceInfo | undefined) {
  return device ? deviceWords[device.state] : { word: 'not configured', mark: '✕', tone: 'bad' }
}

/** Says how full a storage is; undefined for other devices. */
function filledOf(device_id: string): string | undefined {
  const storage = storageOf(device_id)
  return storage && filledWords(storage)
}

type FrameProps = { id: string; box: Box; font: number; device: DeviceInfo | undefined; filled: string | undefined }

/** A device: its kind, name and state, how full it is, and its door. */
const Frame = kept(({ id, box: { x, y, width, height }, font, device, filled }: FrameProps) => {
  const { word, mark, tone } = wordOf(device)
  const room = width - 8 - font
  const both = `${word}, ${filled}`
  // The mark tells that it is ready, where both have no room.
  const short =
    filled === undefined || !device ? word : cut(both, room - font, font * 0.88) === both ? both : device.state === 'ready' ? filled : word
  const { door, plate_lock } = device?.parts ?? {}
  return (
    <g class={`frame ${tone}`} transform={`translate(${x} ${y})`}>
      <title>{[id, word, ...(filled ? [`${filled} slots taken`] : []), ...(device ? partWords(device) : [])].join(', ')}</title>
      <rect width={width} height={height} rx="10" />
      {device && <path class="kind-of" d={kindPath(device)} transform={`translate(6 4) scale(${(font * 1.35) / 24})`} />}
      <text class="name" x={8 + font * 1.35} y={font + 3}>
        {cut(id, width - 10 - font * 1.35, font)}
      </text>
      <text class="word" x="8" y={font * 2.15 + 4}>
        {mark} {cut(short, room, font * 0.88)}
      </text>
      {plate_lock === 'locked' && (
        <path class="lock" d="M2 7h10v7H2zM4 7V5a3 3 0 0 1 6 0v2" transform={`translate(${width - 20} ${font * 1.35})`} />
      )}
      {door && (
        <path
          class={`door ${door}`}
          d={door === 'open' ? `M10 ${height}h${width * 0.14}M${width - 10} ${height}h${-width * 0.14}` : `M10 ${height}H${width - 10}`}
        />
      )}
    </g>
  )
})

type PlaceProps = {
  name: string
  short: string
  box: Box
  hit: Box
  font: number
  isTaken: boolean
  reserved: string | undefined
  words: string
  isChosen: boolean
  onChoose: (chosen: Chosen) => void
}

const Place = kept(({ name, short, box, hit, font, isTaken, reserved, words, isChosen, onChoose }: PlaceProps) => {
  const { x, y, width, height } = box
  // The space keeps words apart for those who hear them.
  const lines = [...linesOf(short, width - 8, font), ...(reserved === undefined ? [] : [cut(` for ${reserved}`, width - 8, font)])]
  const look = isTaken ? 'taken' : reserved === undefined ? 'free' : 'kept'
  return (
    <Press label={words} class={`place ${look}`} pressed={isChosen} onPress={() => onChoose({ kind: 'place', id: name })}>
      <rect class="hit" x={hit.x} y={hit.y} width={hit.width} height={hit.height} rx="8" />
      <rect class="nest" x={x} y={y} width={width} height={height} rx="6" />
      {!isTaken && (
        <text y={y + height / 2 + font * (0.95 - lines.length * 0.6)}>
          {lines.map((line, i) => (
            <tspan key={i} x={x + width / 2} dy={i && font * 1.2}>
              {line}
            </tspan>
          ))}
        </text>
      )}
    </Press>
  )
})

type PlateProps = {
  id: string
  label: string
  thread: string | null
  words: string
  /** A plate whose lid is on is a `closed plate`. */
  kind: string
  x: number
  y: number
  width: number
  height: number
  font: number
  pace: number
  isChosen: boolean
  onChoose: (chosen: Chosen) => void
}

/** Labware, seen from above, with the corner of A1 cut. */
const Plate = kept(({ id, label, thread, words, kind, x, y, width, height, font, pace, isChosen, onChoose }: PlateProps) => {
  const [w, h] = [width - 10, height - 12]
  const colour = thread === null ? 'var(--soft)' : threadColour(thread)
  const isClosed = kind === 'closed plate'
  const closed = isClosed ? `${words}, with its lid on` : words
  const name = thread !== null && thread !== label ? `${closed}, thread ${thread}` : closed
  return (
    <Press label={name} class={`plate ${kind}`} pressed={isChosen} onPress={() => onChoose({ kind: 'labware', id })}>
      <g class="moves" style={{ transform: `translate(${x - width / 2}px, ${y - height / 2}px)`, transitionDuration: `${pace}ms` }}>
        <rect class="hit" width={width} height={height} rx="6" />
        <path class="body" d={`M12 6H${w}a5 5 0 0 1 5 5V${h + 1}a5 5 0 0 1 -5 5H10a5 5 0 0 1 -5 -5V13z`} fill={colour} />
        {isClosed && <rect class="lid-on" x="9" y="9" width={width - 18} height={height - 18} rx="4" />}
        <text x={width / 2} y={height / 2 + font * 0.35}>
          {cut(label, w - 6, font)}
        </text>
      </g>
    </Press>
  )
})

type HandProps = { x: number; y: number; pace: number }

/** The line of an arm. It is scaled from a diagonal, so that its end moves as straight as the plate that it carries. */
const Line = kept(({ base, x, y, pace }: HandProps & { base: Point }) => {
  // A line without width or height could not be scaled.
  const [dx, dy] = [x - base.x || 0.1, y - base.y || 0.1]
  const transform = `translate(${base.x}px, ${base.y}px) scale(${dx}, ${dy})`
  return <line class="arm-line moves" x2="1" y2="1" style={{ transform, transitionDuration: `${pace}ms` }} />
})

/** The gripper of an arm. */
const Hand = kept(({ x, y, pace }: HandProps) => (
  <circle class="hand moves" r="8" style={{ transform: `translate(${x}px, ${y}px)`, transitionDuration: `${pace}ms` }} />
))

type BaseProps = { id: string; at: Point; font: number; device: DeviceInfo | undefined }

/** The base of an arm, or a person. */
const Base = kept(({ id, at: { x, y }, font, device }: BaseProps) => {
  const { word, mark, tone } = wordOf(device)
  return (
    <g class={`base ${tone}`} transform={`translate(${x} ${y})`}>
      <circle r="23" />
      {device && <path class="kind-of" d={kindPath(device)} transform="translate(-13 -13) scale(1.08)" />}
      <text class="name" x="30" y={-font * 0.25}>
        {id}
      </text>
      <text class="word" x="30" y={font}>
        {mark} {word}
      </text>
    </g>
  )
})

/** The distance of the lines of the grid, in mm. */
const grid_mm = 100

/** Lines that show the scale, from the base of the first arm. */
const Grid = kept(({ layout: { px_per_mm = 0, width, height, bases } }: { layout: DeckLayout }) => {
  const step = grid_mm * px_per_mm
  return (
    <>
      <pattern id="grid" {...[...bases.values()][0]} width={step} height={step} patternUnits="userSpaceOnUse">
        <path d={`M${step} 0H0V${step}`} />
      </pattern>
      {step > 0 && <rect class="grid" width={width} height={height} />}
    </>
  )
})

const lengths = [1000, 500, 200, 100, 50, 20]

const ScaleBar = kept(({ layout: { px_per_mm, bar: at } }: { layout: DeckLayout }) => {
  if (px_per_mm === undefined || !at) return null
  const length = lengths.find((mm) => mm * px_per_mm <= bar.width - 10) ?? 10
  const wide = Math.round(length * px_per_mm)
  return (
    <g class="scale-bar" transform={`translate(${at.x} ${at.y})`}>
      <path d={`M4 18v8h${wide}v-8`} />
      <text x={4 + wide / 2} y="20">{`${length} mm`}</text>
    </g>
  )
})

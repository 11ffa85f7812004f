// The chart of a run: a row for each thread, with what was planned as outlines and what happened filled. Only the rows in view are drawn.

import { useSignal } from '@preact/signals'
import type { RefObject, VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type Bar, barAt, happenedAs, type Lane, row_px, rowsInView, scrollStep_px, ticksOf } from './gantt_layout.ts'
import { threadColour } from './thread_colours.ts'
import { clockMinutes, clockTime, duration } from './words.ts'

type ChartProps<Its extends Lane> = {
  lanes: readonly Its[]
  /** The end of the scale, s. */
  end_s: number
  /** Now, in seconds since the beginning of the run; undefined for a plan alone. */
  now_s?: number | undefined
  /** Whether something happened, beside what was planned. */
  hasHappened?: boolean
  /** The beginning of the run in Unix time, s: the scale shows times of day. Undefined for a plan alone. */
  began_s?: number | undefined
  label: string
  /** The name of a thread with its barcode. */
  nameOf?: (lane: Its) => string
  /** A note on the row in words: whether it is late. Where there is room, `end` stands behind it. */
  noteOf?: (lane: Its) => Note | undefined
  onOpen?: (lane: Its, bar: Bar | undefined) => unknown
}

type Note = { word: string; end?: string; isLate: boolean }

const least_px = 320
const narrowest_px = 200
/** The width of the names in a narrow chart, where the end of a late row is left out. */
const narrow_px = 116
/** The width of a letter, roughly. */
const letter_px = 8.5
/** The width of a digit of the scale, with the room beside it. */
const tick_px = 11

export function Gantt<Its extends Lane>(props: ChartProps<Its>) {
  const { lanes, end_s, now_s, began_s, label } = props
  const rows = useRef<HTMLDivElement>(null)
  const size = useScroll(rows)
  const chosen = useSignal(0)
  const { width_px, height_px, top_px } = size.value
  const label_px = width_px < 560 ? narrow_px : 178
  const x = (seconds: number) => (seconds / end_s) * (width_px - label_px - 12)
  const { first, end } = rowsInView({ top_px, height_px, rows: lanes.length })
  const go = (to: number) => {
    chosen.value = Math.max(0, Math.min(lanes.length - 1, to))
    const its = rows.current!
    const at = chosen.value * row_px
    its.scrollTop = Math.max(at + row_px - its.clientHeight, Math.min(its.scrollTop, at))
    requestAnimationFrame(() => its.querySelector<HTMLElement>(`[data-row="${chosen.value}"]`)?.focus())
  }
  const page = Math.max(1, Math.floor(height_px / row_px) - 1)
  const keys: Record<string, () => void> = {
    ArrowDown: () => go(chosen.value + 1),
    ArrowUp: () => go(chosen.value - 1),
    PageDown: () => go(chosen.value + page),
    PageUp: () => go(chosen.value - page),
    Home: () => go(0),
    End: () => go(lanes.length - 1),
  }
  const press = (event: KeyboardEvent) => {
    const act = keys[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }
  const tabbed = Math.max(first, Math.min(chosen.value, end - 1))
  const latest = useRef({ props, press })
  latest.current = { props, press }
  const drawn = useRef(new Map<string, { deps: readonly unknown[]; row: VNode }>())
  const kept = new Map<string, { deps: readonly unknown[]; row: VNode }>()
  /** Returns the row as it was, unless something of it has changed: a scroll draws the rows that came into view alone. */
  const rowOf = (lane: Its, row: number) => {
    const name = props.nameOf?.(lane) ?? lane.thread
    const note = props.noteOf?.(lane)
    const isTabbed = row === tabbed
    const its_now_s = lane.bars.some(({ to_s }) => to_s === null) ? now_s : undefined
    const deps = [lane, row, name, note?.word, note?.end, isTabbed, its_now_s, width_px, end_s, props.onOpen === undefined]
    const before = drawn.current.get(lane.thread)
    const isSame = before?.deps.every((one, i) => one === deps[i])
    const found = isSame
      ? before!
      : {
          deps,
          row: <Row key={lane.thread} {...{ lane, name, note, latest, x, label_px, width_px, end_s, row, isTabbed }} now_s={its_now_s} />,
        }
    kept.set(lane.thread, found)
    return found.row
  }
  const legend = useMemo(
    () => <Legend lanes={lanes} hasHappened={props.hasHappened ?? false} hasNow={now_s !== undefined} />,
    [lanes, props.hasHappened, now_s === undefined],
  )
  useEffect(() => {
    drawn.current = kept
  })
  return (
    <figure class="gantt" aria-label={label}>
      <Axis {...{ end_s, began_s, label_px, width_px, x }} />
      {/* Without buttons in it, the part that scrolls takes the focus itself. */}
      <div class="gantt-rows" ref={rows} tabIndex={props.onOpen ? undefined : 0}>
        <div class="gantt-all" style={{ height: `${lanes.length * row_px}px` }}>
          {lanes.slice(first, end).map((lane, i) => rowOf(lane, first + i))}
          {now_s !== undefined && now_s <= end_s && <div class="gantt-now" style={{ left: `${label_px + x(now_s)}px` }} />}
        </div>
      </div>
      {legend}
    </figure>
  )
}

/** Returns the size of the part that scrolls, and how far it has scrolled, in the steps in which other rows are drawn. */
function useScroll(rows: RefObject<HTMLDivElement | null>) {
  const size = useSignal({ width_px: least_px, height_px: 400, top_px: 0 })
  useEffect(() => {
    const its = rows.current!
    const look = () => {
      const { clientHeight: height_px, scrollTop } = its
      // Before it has its place it may have no width.
      const width_px = Math.max(narrowest_px, its.clientWidth)
      const top_px = Math.floor(scrollTop / scrollStep_px) * scrollStep_px
      const { value } = size
      if (value.width_px !== width_px || value.height_px !== height_px || value.top_px !== top_px)
        size.value = { width_px, height_px, top_px }
    }
    const watch = new ResizeObserver(look)
    watch.observe(its)
    its.addEventListener('scroll', look, { passive: true })
    return () => {
      watch.disconnect()
      its.removeEventListener('scroll', look)
    }
  }, [])
  return size
}

type AxisProps = { end_s: number; began_s: number | undefined; label_px: number; width_px: number; x: (seconds: number) => number }

function Axis({ end_s, began_s, label_px, width_px, x }: AxisProps) {
  const words = (tick: number) => {
    if (began_s === undefined) return duration(tick)
    return (end_s > 600 ? clockMinutes : clockTime)(began_s + tick, began_s)
  }
  const all = ticksOf(end_s, Math.max(2, Math.floor((width_px - label_px) / 90)), began_s)
  // A time that would be cut off is left out.
  const ticks = all.filter((tick) => label_px + x(tick) + words(tick).length * tick_px <= width_px)
  return (
    <div class="gantt-axis" aria-hidden="true">
      {ticks.map((tick) => (
        <span key={tick} style={{ left: `${label_px + x(tick)}px` }}>
          {words(tick)}
        </span>
      ))}
    </div>
  )
}

type RowProps<Its extends Lane> = {
  lane: Its
  name: string
  note: Note | undefined
  latest: RefObject<{ props: ChartProps<Its>; press: (event: KeyboardEvent) => void }>
  row: number
  isTabbed: boolean
  now_s: number | undefined
  x: (seconds: number) => number
  label_px: number
  width_px: number
  end_s: number
}

function Row<Its extends Lane>({ lane, name, note, latest, row, isTabbed, now_s, x, label_px, width_px, end_s }: RowProps<Its>) {
  // The picture of a row without a running step stays the same, whatever happens to others.
  const picture = useMemo(
    () => <Picture lane={lane} now_s={now_s} x={x} width_px={width_px - label_px} />,
    [lane, now_s, width_px, label_px, end_s],
  )
  const barUnder = ({ currentTarget, clientX }: MouseEvent) => {
    const { left } = (currentTarget as HTMLElement).getBoundingClientRect()
    const seconds = ((clientX - left - label_px) / (width_px - label_px - 12)) * end_s
    return seconds < 0 ? undefined : barAt(lane, seconds, latest.current!.props.now_s ?? 0)
  }
  const tell = (event: MouseEvent) => {
    const bar = barUnder(event)
    const end = bar?.to_s ?? latest.current!.props.now_s ?? 0
    const words = bar && `${bar.label}, ${bar.tone === 'planned' ? 'planned, ' : ''}${duration(end - bar.from_s)}`
    ;(event.currentTarget as HTMLElement).title = words ?? [name, note?.word, note?.end].filter(Boolean).join(', ')
  }
  const its = { class: 'gantt-row', onMouseMove: tell, style: { top: `${row * row_px}px` }, 'data-row': row }
  const head = (
    <span class="gantt-label" style={{ width: `${label_px}px` }}>
      <strong>{name}</strong>
      {note && (
        <small class={note.isLate ? 'bad' : undefined}>{label_px > narrow_px && note.end ? `${note.word}, ${note.end}` : note.word}</small>
      )}
    </span>
  )
  if (!latest.current!.props.onOpen)
    return (
      <div {...its}>
        {head}
        {picture}
      </div>
    )
  const open = (event: MouseEvent) => {
    const running = lane.bars.find(({ to_s }) => to_s === null) ?? lane.bars.at(-1) ?? lane.plan[0]
    // A press by keyboard, or on the name, means the step that goes on, or the last one.
    latest.current!.props.onOpen?.(lane, (event.detail > 0 && barUnder(event)) || running)
  }
  return (
    <button type="button" {...its} tabIndex={isTabbed ? 0 : -1} onClick={open} onKeyDown={(event) => latest.current!.press(event)}>
      {head}
      {picture}
    </button>
  )
}

type PictureProps = { lane: Lane; now_s: number | undefined; x: (seconds: number) => number; width_px: number }

/** The bars of a row as one shape for each look, so that a thousand rows scroll fast. */
function Picture({ lane, now_s = 0, x, width_px }: PictureProps) {
  const { thread, plan, bars } = lane
  const shapes = new Map<string, string>()
  const labels: { bar: Bar; words: string; at: number }[] = []
  const done_s = bars.reduce((most, { to_s }) => Math.max(most, to_s ?? now_s), 0)
  for (const bar of [...plan, ...bars]) {
    const { kind, tone, from_s, to_s } = bar
    const [left, width] = [x(from_s), Math.max(2, x(to_s ?? Math.max(from_s, now_s)) - x(from_s))]
    const inset = (kind === 'move' ? 16 : 8) - (tone === 'planned' ? 4 : 0)
    const look = `bar ${kind} ${tone}`
    shapes.set(
      look,
      `${shapes.get(look) ?? ''}M${left.toFixed(1)} ${inset}h${width.toFixed(1)}v${row_px - 2 * inset}h-${width.toFixed(1)}z`,
    )
    const words = kind === 'action' ? wordsWithin(bar, width) : undefined
    // The label of a planned step would lie over a bar that has got so far.
    if (words !== undefined && !(tone === 'planned' && (from_s < done_s || happenedAs(lane, bar))))
      labels.push({ bar, words, at: left + 6 })
  }
  const colour = threadColour(thread)
  return (
    <svg width={width_px} height={row_px} aria-hidden="true">
      {[...shapes].map(([look, shape]) => (
        <path key={look} d={shape} class={look} style={/done|running/.test(look) ? { fill: colour } : undefined} />
      ))}
      {labels.map(({ bar: { id, tone }, words, at }) => (
        <text key={id} x={at} y={row_px / 2 + 5} class={tone === 'planned' ? 'bar-label planned' : 'bar-label'}>
          {words}
        </text>
      ))}
    </svg>
  )
}

/** Returns the label that fits into a bar: a narrow one has the name of the action alone, a narrower one none. */
function wordsWithin({ label, tone }: Bar, width_px: number): string | undefined {
  const mark = tone === 'failed' ? '✕ ' : ''
  return [label, label.replace(/ on [^ ]+$/, '')].map((text) => mark + text).find((text) => width_px > text.length * letter_px + 8)
}

function Legend({ lanes, hasHappened, hasNow }: { lanes: readonly Lane[]; hasHappened: boolean; hasNow: boolean }) {
  const hasPlan = lanes.some(({ plan }) => plan.length > 0)
  const hasFailed = lanes.some(({ bars }) => bars.some(({ tone }) => tone === 'failed'))
  return (
    <figcaption class="gantt-legend hint" style={lanes[0] && { '--its': threadColour(lanes[0].thread) }}>
      {hasPlan && (
        <span>
          <i class="key planned" aria-hidden="true" /> planned
        </span>
      )}
      {hasHappened && (
        <span>
          <i class="key" aria-hidden="true" /> done
        </span>
      )}
      <span>
        <i class="key move" aria-hidden="true" /> {hasHappened ? 'moved' : 'move'}
      </span>
      {hasFailed && (
        <span>
          <i class="key failed" aria-hidden="true" /> ✕ failed
        </span>
      )}
      {hasNow && (
        <span>
          <i class="key now" aria-hidden="true" /> now
        </span>
      )}
    </figcaption>
  )
}

// A Gantt chart: one row for each thread, a bar for each action and each move.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { duration } from './words.ts'

export type Bar = {
  thread: string
  kind: 'action' | 'move'
  label: string
  from_s: number
  to_s: number
  tone?: 'running' | 'failed' | 'done'
}

const row_px = 36
const label_px = 120
const least_px = 560
/** The approximate width of a letter. */
const letter_px = 8.5
/** The most threads that are drawn, the newest; the list of threads has all. */
const mostThreads = 100

/** Draws the chart in the available width, so that its letters have the size of the page's. */
export function Gantt({ bars, until_s, label }: { bars: readonly Bar[]; until_s: number; label: string }) {
  const figure = useRef<HTMLElement>(null)
  const room = useSignal(0)
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) room.value = Math.floor(entry.contentRect.width)
    })
    watch.observe(figure.current!)
    return () => watch.disconnect()
  }, [])
  const width_px = Math.max(least_px, room.value)
  const all = [...new Set(bars.map(({ thread }) => thread))]
  const threads = all.slice(-mostThreads)
  const rows = new Map(threads.map((thread, row) => [thread, row]))
  const end = Math.max(until_s, 1)
  const x = (seconds: number) => label_px + (seconds / end) * (width_px - label_px - 24)
  const height = threads.length * row_px + 28
  return (
    // A chart that is wider than the screen can be scrolled with the keyboard.
    <figure class="gantt" aria-label={label} ref={figure} tabIndex={width_px > room.value ? 0 : undefined}>
      {all.length > threads.length && <figcaption class="hint">{all.length - threads.length} earlier threads are not drawn.</figcaption>}
      <svg width={width_px} height={height} role="img" aria-label={`${label}: ${all.length} threads, ${duration(end)}`}>
        {ticksOf(end, width_px).map((tick) => (
          <g key={tick}>
            <line x1={x(tick)} x2={x(tick)} y1="0" y2={height - 24} class="tick" />
            <text x={x(tick)} y={height - 8} class="tick-label">
              {duration(tick)}
            </text>
          </g>
        ))}
        {threads.map((thread, row) => (
          <text key={thread} x="0" y={row * row_px + 23} class="thread">
            {thread.length > 13 ? `${thread.slice(0, 12)}…` : thread}
            <title>{thread}</title>
          </text>
        ))}
        {bars.map((bar, i) => {
          const row = rows.get(bar.thread)
          return row === undefined ? null : <Drawn key={i} bar={bar} from={x(bar.from_s)} to={x(bar.to_s)} y={row * row_px + 4} />
        })}
      </svg>
    </figure>
  )
}

function Drawn({ bar: { kind, label, tone, from_s, to_s }, from, to, y }: { bar: Bar; from: number; to: number; y: number }) {
  const width = Math.max(2, to - from)
  return (
    <g>
      <rect
        x={from}
        y={kind === 'move' ? y + 8 : y}
        width={width}
        height={kind === 'move' ? 12 : 28}
        rx="3"
        class={`bar ${kind} ${tone ?? ''}`}
      >
        <title>{`${label}, ${duration(from_s)} to ${duration(to_s)}`}</title>
      </rect>
      {kind === 'action' && width > label.length * letter_px + 8 && (
        <text x={from + 6} y={y + 19} class="bar-label">
          {label}
        </text>
      )}
    </g>
  )
}

function ticksOf(end: number, width_px: number): number[] {
  const most = width_px < 800 ? 5 : 9
  const step =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400].find((one) => end / one <= most) ?? end
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step)
}

// A chart of who does what when: one row for each thread, a bar for each action and each move.

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
const width_px = 1000

export function Gantt({ bars, until_s, label }: { bars: readonly Bar[]; until_s: number; label: string }) {
  const threads = [...new Set(bars.map(({ thread }) => thread))]
  const end = Math.max(until_s, 1)
  const x = (seconds: number) => label_px + (seconds / end) * (width_px - label_px - 8)
  const ticks = ticksOf(end)
  const height = threads.length * row_px + 28
  return (
    <figure class="gantt" aria-label={label}>
      <svg viewBox={`0 0 ${width_px} ${height}`} role="img" aria-label={`${label}: ${threads.length} threads, ${duration(end)}`}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={x(tick)} x2={x(tick)} y1="0" y2={height - 24} class="tick" />
            <text x={x(tick)} y={height - 8} class="tick-label">
              {duration(tick)}
            </text>
          </g>
        ))}
        {threads.map((thread, row) => (
          <text key={thread} x="0" y={row * row_px + 23} class="thread">
            {thread.length > 14 ? `${thread.slice(0, 13)}…` : thread}
          </text>
        ))}
        {bars.map((bar, i) => {
          const width = Math.max(2, x(bar.to_s) - x(bar.from_s))
          const y = threads.indexOf(bar.thread) * row_px + 4
          const text = `${bar.label}, ${duration(bar.from_s)} to ${duration(bar.to_s)}`
          return (
            <g key={i}>
              <rect
                x={x(bar.from_s)}
                y={bar.kind === 'move' ? y + 8 : y}
                width={width}
                height={bar.kind === 'move' ? 12 : 28}
                rx="3"
                class={`bar ${bar.kind} ${bar.tone ?? ''}`}
              >
                <title>{text}</title>
              </rect>
              {bar.kind === 'action' && width > bar.label.length * 8.5 && (
                <text x={x(bar.from_s) + 6} y={y + 19} class="bar-label">
                  {bar.label}
                </text>
              )}
            </g>
          )
        })}
      </svg>
    </figure>
  )
}

function ticksOf(end: number): number[] {
  const step = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400].find((one) => end / one <= 8) ?? end
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step)
}

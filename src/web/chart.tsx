// A chart of the values of one unit over time, drawn by uPlot.

import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { type Lines, type Mark, moved, type Span, summaryOf, zoomed } from './chart_data.ts'
import { clockTime } from './words.ts'

type Props = {
  lines: Lines
  marks: readonly Mark[]
  /** The span that is shown, and the widest one. */
  span: Span
  whole: Span
  onSpan: (span: Span) => void
}

/** The colours of a chart, as the canvas needs them. */
type Colors = { ink: string; line: string; bad: string; busy: string; series: string[] }

const height_px = 220
/** The lines of a chart differ in their dashes too. */
const dashes = [[], [9, 4], [3, 3], [12, 3, 3, 3]]

export function Chart(props: Props) {
  const { lines, span, marks } = props
  const holder = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const said = useSignal('')
  // The handlers of the plot outlive a rendering.
  const latest = useRef(props)
  latest.current = props
  const scheme = useSignal(0)
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const changed = () => scheme.value++
    dark.addEventListener('change', changed)
    return () => dark.removeEventListener('change', changed)
  }, [])
  useEffect(() => {
    const made = new uPlot(
      optionsOf(holder.current!, latest, (text) => (said.value = text)),
      dataOf(lines),
      holder.current!,
    )
    const forget = touches(made.over, made, latest)
    const watch = new ResizeObserver(([entry]) => {
      if (entry) made.setSize({ width: Math.floor(entry.contentRect.width), height: height_px })
    })
    watch.observe(holder.current!)
    plot.current = made
    return () => {
      watch.disconnect()
      forget()
      made.destroy()
    }
  }, [lines.names.join('\n'), lines.unit, scheme.value])
  useEffect(() => plot.current?.setData(dataOf(lines), false), [lines])
  useEffect(() => plot.current?.setScale('x', span), [lines, marks, span.min, span.max])
  return (
    <figure class="chart">
      <figcaption>
        {lines.names.map((name, n) => (
          <span key={name} class={`key-${n % dashes.length}`}>
            {name.replaceAll('_', ' ')}
            {lines.unit && ` (${lines.unit})`}
          </span>
        ))}
      </figcaption>
      <div ref={holder} role="img" aria-label={useMemo(() => summaryOf(lines), [lines])} />
      <p class="hint at-cursor">{said.value}</p>
    </figure>
  )
}

/** The columns of uPlot: time, then the values and the target of each name. */
function dataOf({ at, values, targets }: Lines): uPlot.AlignedData {
  return [at, ...values.flatMap((one, n) => [one, targets[n]!])] as uPlot.AlignedData
}

function colorsOf(holder: HTMLElement): Colors {
  const probe = document.createElement('span')
  holder.append(probe)
  // The canvas does not know light-dark(), so the browser computes each colour.
  const color = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const colors = { ink: color('soft'), line: color('line'), bad: color('bad'), busy: color('busy') }
  const series = dashes.map((_, n) => color(`series-${n}`))
  probe.remove()
  return { ...colors, series }
}

function optionsOf(holder: HTMLElement, latest: { current: Props }, say: (text: string) => void): uPlot.Options {
  const { lines } = latest.current
  const colors = colorsOf(holder)
  const letter_px = Number.parseFloat(getComputedStyle(holder).fontSize)
  const axis = {
    stroke: colors.ink,
    font: `${letter_px * 0.85}px system-ui, sans-serif`,
    grid: { stroke: colors.line, width: 1 },
    ticks: { stroke: colors.line },
  }
  return {
    width: Math.max(200, holder.clientWidth),
    height: height_px,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false, dist: 8 }, points: { size: 7 } },
    scales: {
      x: { time: true, range: () => [latest.current.span.min, latest.current.span.max] },
      y: { range: (_, least, most) => padded(least, most) },
    },
    series: [
      {},
      ...lines.names.flatMap((name, n) => {
        const stroke = colors.series[n % dashes.length]!
        return [
          { label: name, stroke, width: 2, dash: dashes[n % dashes.length]!, points: { show: false } },
          { label: `target of ${name}`, stroke, width: 1, dash: [2, 6], points: { show: false } },
        ]
      }),
    ],
    axes: [
      { ...axis, size: letter_px * 2, space: letter_px * 6, values: (_, splits, __, ___, step) => splits.map((at) => timeLabel(at, step)) },
      {
        ...axis,
        size: letter_px * 3.6,
        values: (_, splits) => splits.map((value) => String(Number(value.toPrecision(6)))),
        label: lines.unit,
        labelSize: letter_px * 1.3,
        labelFont: axis.font,
      },
    ],
    hooks: {
      drawClear: [(plot) => drawMarks(plot, latest.current.marks, colors)],
      setCursor: [(plot) => say(atCursor(plot, latest.current))],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width < 8) return
          latest.current.onSpan({ min: plot.posToVal(left, 'x'), max: plot.posToVal(left + width, 'x') })
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

/** Leaves room above and below, and at least one unit, so that noise does not fill the chart. */
function padded(least: number | null, most: number | null): [number, number] {
  if (least === null || most === null) return [0, 1]
  const room = Math.max(1, most - least) * 0.1
  return most - least < 1 ? [least - 0.5, most + 0.5] : [least - room, most + room]
}

function timeLabel(at: number, step_s: number): string {
  const text = new Date(at * 1000).toTimeString()
  return step_s < 60 ? text.slice(0, 8) : text.slice(0, 5)
}

/** Draws operations as bars along the upper edge and bad ones as lines too, below the curves. */
function drawMarks(plot: uPlot, marks: readonly Mark[], colors: Colors): void {
  const { ctx, bbox } = plot
  const ratio = uPlot.pxRatio
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  for (const { from, to, isBad } of marks) {
    const x = plot.valToPos(from, 'x', true)
    const width = Math.max(2 * ratio, plot.valToPos(to ?? from, 'x', true) - x)
    ctx.fillStyle = isBad ? colors.bad : colors.busy
    ctx.fillRect(x, bbox.top, width, 6 * ratio)
    if (!isBad) continue
    ctx.fillRect(x, bbox.top, ratio, bbox.height)
    ctx.beginPath()
    ctx.moveTo(x, bbox.top + 2 * ratio)
    ctx.lineTo(x + 6 * ratio, bbox.top + 14 * ratio)
    ctx.lineTo(x - 6 * ratio, bbox.top + 14 * ratio)
    ctx.fill()
  }
  ctx.restore()
}

/** The distance from the pointer at which a mark is told. */
const near_px = 8

function atCursor(plot: uPlot, { lines, marks }: Props): string {
  const { idx, left = -1 } = plot.cursor
  if (left < 0 || idx === null || idx === undefined) return ''
  const at = lines.at[idx]
  if (at === undefined) return ''
  const values = lines.names.flatMap((name, n) => {
    const [value, target] = [lines.values[n]![idx], lines.targets[n]![idx]]
    if (value === null || value === undefined) return []
    return [`${name.replaceAll('_', ' ')} ${value} ${lines.unit}${target === null ? '' : `, target ${target} ${lines.unit}`}`]
  })
  const near_s = plot.posToVal(near_px, 'x') - plot.posToVal(0, 'x')
  const here = plot.posToVal(left, 'x')
  const near = marks.filter(({ from, to }) => here >= from - near_s && here <= (to ?? from) + near_s).slice(-2)
  return [clockTime(at), ...values, ...near.map(({ text }) => text)].join(' · ')
}

/** Two fingers enlarge or show more, one finger moves an enlarged chart. Returns what ends that. */
function touches(over: HTMLElement, plot: uPlot, latest: { current: Props }): () => void {
  const fingers = new Map<number, number>()
  const down = (event: PointerEvent) => {
    if (event.pointerType === 'touch') fingers.set(event.pointerId, event.offsetX)
  }
  const move = (event: PointerEvent) => {
    const before = fingers.get(event.pointerId)
    if (before === undefined) return
    const { span, whole, onSpan } = latest.current
    const [other] = [...fingers].flatMap(([id, x]) => (id === event.pointerId ? [] : [x]))
    fingers.set(event.pointerId, event.offsetX)
    if (other === undefined) {
      onSpan(moved(span, plot.posToVal(before, 'x') - plot.posToVal(event.offsetX, 'x'), whole))
      return
    }
    const [was_px, is_px] = [Math.abs(before - other), Math.abs(event.offsetX - other)]
    if (was_px > 4 && is_px > 4) onSpan(zoomed(span, was_px / is_px, whole, plot.posToVal((event.offsetX + other) / 2, 'x')))
  }
  const up = (event: PointerEvent) => void fingers.delete(event.pointerId)
  const listening: [string, (event: PointerEvent) => void][] = [
    ['pointerdown', down],
    ['pointermove', move],
    ['pointerup', up],
    ['pointercancel', up],
  ]
  for (const [name, call] of listening) over.addEventListener(name, call as EventListener)
  return () => {
    for (const [name, call] of listening) over.removeEventListener(name, call as EventListener)
  }
}

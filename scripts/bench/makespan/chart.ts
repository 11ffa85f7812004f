// Checks the chart of a run against the shop that it is a run of. It knows nothing of the service, and of the solver only the shop.

import { carriersOf, padsOf, parksOf, platesOf, type Shop, type Step, unitsOf } from './shops.ts'

/** A bar of a chart, as a dry run returns it: the work of a plate at a device, or one hop. */
export type Bar = {
  readonly thread_name: string
  readonly kind: 'action' | 'move'
  /** Of a move `from → to`. */
  readonly name: string
  readonly device: string | null
  readonly from_s: number
  readonly to_s: number
}

type Stay = { readonly from_s: number; readonly to_s: number; readonly who: string; readonly where: string }

/** Returns the faults of a chart as sentences; none for a chart that could be carried out. */
export function faultsIn(shop: Shop, bars: readonly Bar[]): string[] {
  const names = platesOf(shop)
  const strangers = bars.filter(({ thread_name }) => !names.includes(thread_name))
  const faults = strangers.map(({ thread_name }) => `the shop has no plate ${thread_name}`)
  const stays: Stay[] = []
  for (const [p, name] of names.entries()) {
    const own = bars.filter(({ thread_name }) => thread_name === name).sort((a, b) => a.from_s - b.from_s || a.to_s - b.to_s)
    const journey = journeyOf(shop, { p, who: name }, own)
    faults.push(...journey.faults)
    stays.push(...journey.stays)
  }
  const hops = bars.filter(({ kind }) => kind === 'move')
  const carried = hops.map(({ thread_name, name, device, from_s, to_s }) => ({
    ...{ who: `${thread_name} (${name})`, where: device ?? 'nobody', from_s, to_s },
  }))
  return [...faults, ...overlaps(carried, 'carries'), ...overlaps(stays, 'holds')]
}

/** Follows one plate. A place is occupied from the beginning of the hop to it until the end of the hop away from it. */
function journeyOf(shop: Shop, { p, who }: { p: number; who: string }, bars: readonly Bar[]): { faults: string[]; stays: Stay[] } {
  const pads = padsOf(shop)
  const ends = shop.alike ? pads : [pads[p]!]
  const steps = shop.plates[p]!
  const places = [...ends, ...parksOf(shop), ...shop.units.flatMap((_, device) => unitsOf(shop, device).map((unit) => `${unit}_in`))]
  const carriers = carriersOf(shop)
  const faults: string[] = []
  const stays: Stay[] = []
  let place = pads[p]!
  let since = 0
  let free = 0
  let done = 0
  for (const bar of bars) {
    const { kind, name, device, from_s, to_s } = bar
    if (from_s < free) faults.push(`${who} begins ${name} at ${from_s} s, before the end of what it did until ${free} s`)
    if (kind === 'move') {
      const [from, to] = name.split(' → ') as [string, string]
      if (from !== place) faults.push(`${who} is carried from ${from} at ${from_s} s, but it is at ${place}`)
      if (!places.includes(to)) faults.push(`${who} is carried to ${to}, which is no place for it`)
      if (!carriers.includes(device ?? '')) faults.push(`${who} is carried by ${device}, which is no carrier`)
      if (!isAbout(to_s - from_s, shop.hop_s)) faults.push(`the hop ${name} of ${who} takes ${to_s - from_s} s in place of ${shop.hop_s}`)
      stays.push({ who, where: place, from_s: since, to_s })
      place = to
      since = from_s
    } else {
      faults.push(...faultsOfWork({ shop, who, place, step: steps[done], before: lastWork(bars, bar) }, bar, steps[done - 1]))
      done++
    }
    free = Math.max(free, to_s)
  }
  stays.push({ who, where: place, from_s: since, to_s: Number.POSITIVE_INFINITY })
  if (done < steps.length) faults.push(`${who} does ${done} of ${steps.length} steps`)
  if (!ends.includes(place)) faults.push(`${who} ends at ${place}, not at ${ends.join(' or ')}`)
  return { faults, stays }
}

type Work = { shop: Shop; who: string; place: string; step: Step | undefined; before: Bar | undefined }

function faultsOfWork({ shop, who, place, step, before }: Work, { device, from_s, to_s }: Bar, previous: Step | undefined): string[] {
  if (!step) return [`${who} is worked at by ${device} at ${from_s} s, after its last step`]
  const faults: string[] = []
  if (!unitsOf(shop, step.device).includes(device ?? ''))
    faults.push(`${who} is worked at by ${device}, not by ${unitsOf(shop, step.device)}`)
  if (place !== `${device}_in`) faults.push(`${who} is worked at by ${device} at ${from_s} s, but it is at ${place}`)
  if (!isAbout(to_s - from_s, step.seconds)) faults.push(`${device} works at ${who} for ${to_s - from_s} s in place of ${step.seconds}`)
  const window = previous?.window_s ?? null
  if (window !== null && before && from_s - before.to_s > window)
    faults.push(`${who} waits ${from_s - before.to_s} s for ${device}, and its window is ${window} s`)
  return faults
}

function lastWork(bars: readonly Bar[], bar: Bar): Bar | undefined {
  return bars.slice(0, bars.indexOf(bar)).findLast(({ kind }) => kind === 'action')
}

/** Returns a sentence for each two stays that overlap at one carrier or place. */
function overlaps(stays: readonly Stay[], does: string): string[] {
  const faults: string[] = []
  const sorted = stays.toSorted((a, b) => a.from_s - b.from_s || a.to_s - b.to_s)
  for (const [i, one] of sorted.entries()) {
    for (const other of sorted.slice(i + 1)) {
      if (other.from_s >= one.to_s) break
      if (other.where === one.where) faults.push(`${one.where} ${does} ${one.who} and ${other.who} at ${other.from_s} s`)
    }
  }
  return faults
}

/** Whether two durations are equal but for what the sum of seconds loses. */
function isAbout(one: number, other: number): boolean {
  return Math.abs(one - other) < 1e-6
}

// Compares the durations of the steps of two runs of a workflow.

import type { TimelineRow } from '../clients/ts/benchd.ts'
import { duration } from './words.ts'

type Sum = { count: number; seconds: number }
type Step = { step: string; here: string; there: string; difference: string; isLonger: boolean }

/** Returns the steps in the order in which this run began them, and the differences in words. */
export function comparisonOf(here: readonly TimelineRow[], there: readonly TimelineRow[]): { words: string; steps: Step[] } {
  const [ours, theirs] = [sumsOf(here), sumsOf(there)]
  const compared = [...new Set([...ours.keys(), ...theirs.keys()])].map((step) => {
    const [its, other] = [ours.get(step), theirs.get(step)]
    // With other numbers of plates, the durations of one step are alike.
    const by = its && other ? meanOf(its) - meanOf(other) : undefined
    return { step, its, other, by }
  })
  const steps = compared.map(({ step, its, other, by }): Step => {
    const difference = by === undefined ? (its ? 'only in this run' : 'only in the earlier run') : differenceWords(by)
    return { step, here: sumWords(its), there: sumWords(other), difference, isLonger: by !== undefined && Math.round(by) > 0 }
  })
  return { words: wordsOf(here, there, compared), steps }
}

type Compared = { step: string; its: Sum | undefined; other: Sum | undefined; by: number | undefined }

function wordsOf(here: readonly TimelineRow[], there: readonly TimelineRow[], compared: readonly Compared[]): string {
  const [ours, theirs] = [lastOf(here), lastOf(there)]
  const whole = differenceWords(ours - theirs)
  const first = `This run took ${duration(ours)}, the earlier one ${duration(theirs)}: ${whole === 'the same' ? 'the same time' : whole}.`
  const most = compared.reduce<Compared | undefined>(
    (best, one) => (Math.abs(one.by ?? 0) > Math.abs(best?.by ?? 0) ? one : best),
    undefined,
  )
  const largest =
    most?.by !== undefined && Math.round(most.by) !== 0 ? ` The largest difference: ${most.step}, ${differenceWords(most.by)}.` : ''
  const lone = compared.filter(({ by }) => by === undefined).map(({ step }) => step)
  return `${first}${largest}${lone.length ? ` Done in one of the runs alone: ${lone.join(', ')}.` : ''}`
}

/** Sums the steps that have ended: actions by name and device, moves by transporter; those that failed apart, because they last until somebody decides. */
function sumsOf(rows: readonly TimelineRow[]): Map<string, Sum> {
  const sums = new Map<string, Sum>()
  for (const { kind, name, device, transporter, started, ended, status } of rows) {
    if (started === null || ended === null || (kind === 'action' && device === null)) continue
    const failed = status === 'ERRORED' || status === 'ABORTED' ? ' (failed)' : ''
    const step = `${kind === 'move' ? `moves by ${transporter}` : `${name} on ${device}`}${failed}`
    const { count, seconds } = sums.get(step) ?? { count: 0, seconds: 0 }
    sums.set(step, { count: count + 1, seconds: seconds + ended - started })
  }
  return sums
}

function meanOf({ count, seconds }: Sum): number {
  return seconds / count
}

function sumWords(sum: Sum | undefined): string {
  if (!sum) return '–'
  return sum.count === 1 ? duration(sum.seconds) : `${sum.count} × ${duration(meanOf(sum))}`
}

function differenceWords(seconds: number): string {
  const whole = Math.round(seconds)
  if (whole === 0) return 'the same'
  return whole > 0 ? `${duration(whole)} longer` : `${duration(-whole)} shorter`
}

function lastOf(rows: readonly TimelineRow[]): number {
  return rows.reduce((last, { ended }) => Math.max(last, ended ?? 0), 0)
}

// A benchmark is a record that measures something beside its limit, in the same run.

import { readFileSync } from 'node:fs'

export type Options = Record<string, number | string>

export type Bench<Its extends Options = Options> = {
  /** As it is called on the command line: `http-get`. */
  name: string
  summary: string
  /** The words for the column of the limit. */
  limit?: string
  /** The options, with the values of the short form. */
  options: Its
  run(options: Its): Promise<Row[]>
}

/** One figure. */
export type Row = {
  what: string
  unit: string
  value: number
  /** The same figure of the limit. */
  limit?: number
  /** The value over the limit; the median of the rounds, where there are rounds. */
  ratio?: number
  target?: Target | undefined
}

/** `wall` marks what any other work on the machine disturbs: missing it fails nobody. */
export type Target = { of: 'value' | 'ratio'; most?: number; least?: number; wall?: true }

/** Keeps the types of a bench's options for its `run`. */
export function bench<Its extends Options>(definition: Bench<Its>): Bench {
  return definition as unknown as Bench
}

/** Whether the row is as it should be; undefined where nothing is asked of it. */
export function meets({ target, value, ratio }: Row): boolean | undefined {
  if (!target) return undefined
  const figure = target.of === 'ratio' ? ratio : value
  if (figure === undefined) return false
  return figure <= (target.most ?? Number.POSITIVE_INFINITY) && figure >= (target.least ?? Number.NEGATIVE_INFINITY)
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** CPU time of all children that have ended, in milliseconds; the kernel tells it in hundredths of a second (proc(5), cutime). */
export function childrenCpu(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}

export function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!
}

// A benchmark is a record that measures something beside its limit, in the same run.

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

/** Returns a figure, with its ratio to the limit where there is one. */
export function row(what: string, unit: string, value: number, { limit, target }: Pick<Row, 'limit' | 'target'> = {}): Row {
  return { what, unit, value, ...(limit !== undefined && { limit, ratio: value / limit }), target }
}

/** Returns the medians of rounds that measure the same of the service and of its limit. */
export function rowOfRounds(what: string, unit: string, rounds: readonly { value: number; limit: number }[], target?: Target): Row {
  const of = (figure: (round: { value: number; limit: number }) => number) => median(rounds.map(figure))
  return { what, unit, value: of(({ value }) => value), limit: of(({ limit }) => limit), ratio: of((one) => one.value / one.limit), target }
}

/** The target of what must not be there at all. */
export const none = { target: { of: 'value', most: 0 } } as const

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

export function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!
}

// Compares two documents, workflows or topologies, and says in words what differs, place by place. The order of members does not count; items of lists
// are compared by their content.

import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { described } from '../../kit/described.ts'

export const DocumentChange = v.strictObject({
  place: described(v.string(), 'Where in the document, as mistakes name it: `threads.plate.steps`'),
  change: v.picklist(['added', 'removed', 'changed', 'moved']),
  before: described(v.optional(v.unknown()), 'The value before the change; absent where it was added'),
  after: described(v.optional(v.unknown()), 'The value after the change; absent where it was removed'),
  text: described(v.string(), 'The change in words: `variables.speed.default: 400 -> 600`'),
})
export type DocumentChange = v.InferOutput<typeof DocumentChange>

/** The longest value in the words of a change, in characters. */
const longestValue = 80
/** Lists with more pairs of items than this are compared item by item, because the table of a comparison would be too large. */
const mostPairs = 250_000

/** Lists the changes from one document to another; none where both mean the same. */
export function documentChanges(before: unknown, after: unknown): DocumentChange[] {
  return compared('', before, after)
}

function compared(place: string, before: unknown, after: unknown): DocumentChange[] {
  if (isDeepStrictEqual(before, after)) return []
  // A method is a list of actions, or an object that holds the list.
  if (Array.isArray(before) && isObject(after) && 'actions' in after) return compared(place, { actions: before }, after)
  if (Array.isArray(after) && isObject(before) && 'actions' in before) return compared(place, before, { actions: after })
  if (Array.isArray(before) && Array.isArray(after)) return listChanges(place, before, after)
  if (isObject(before) && isObject(after)) return memberChanges(place, before, after)
  return [{ place, change: 'changed', before, after, text: `${place || 'the document'}: ${valueText(before)} -> ${valueText(after)}` }]
}

function memberChanges(place: string, before: Members, after: Members): DocumentChange[] {
  const names = [...Object.keys(before), ...Object.keys(after).filter((name) => !Object.hasOwn(before, name))]
  return names.flatMap((name): DocumentChange[] => {
    const inner = place === '' ? name : `${place}.${name}`
    const [had, has] = [before[name], after[name]]
    if (had === undefined && has === undefined) return []
    if (had === undefined) return [{ place: inner, change: 'added', after: has, text: `${inner}: added${contentText(has)}` }]
    if (has === undefined) return [{ place: inner, change: 'removed', before: had, text: `${inner}: removed${contentText(had)}` }]
    return compared(inner, had, has)
  })
}

/** A pair of items of two lists: the same, or one that has become the other; undefined where it is in one list only. */
type Pair = { from: number | undefined; to: number | undefined }

function listChanges(place: string, before: readonly unknown[], after: readonly unknown[]): DocumentChange[] {
  const pairs = pairsOf(before, after)
  const gone = pairs.filter(({ to }) => to === undefined).map(({ from }) => from!)
  const changes: DocumentChange[] = []
  for (const { from, to } of pairs) {
    if (from !== undefined && to !== undefined) changes.push(...compared(`${place}[${to}]`, before[from], after[to]))
    else if (to !== undefined) {
      const item = after[to]
      const source = gone.findIndex((index) => isDeepStrictEqual(before[index], item))
      const where = placeText(after, to)
      if (source >= 0) {
        gone.splice(source, 1)
        changes.push({ place, change: 'moved', before: item, after: item, text: `${place}: ${labelOf(item)} moved ${where}` })
      } else changes.push({ place, change: 'added', after: item, text: `${place}: ${labelOf(item)} added ${where}` })
    }
  }
  for (const index of gone)
    changes.push({ place, change: 'removed', before: before[index], text: `${place}: ${labelOf(before[index])} removed` })
  return changes
}

/** Pairs equal items along a longest common subsequence; between them, items of the same name, in their order. */
function pairsOf(before: readonly unknown[], after: readonly unknown[]): Pair[] {
  const pairs: Pair[] = []
  let [from, to] = [0, 0]
  for (const [nextFrom, nextTo] of [...commonOf(before, after), [before.length, after.length] as const]) {
    pairs.push(...namesakes(before, after, { from, to, nextFrom, nextTo }))
    if (nextFrom < before.length) pairs.push({ from: nextFrom, to: nextTo })
    ;[from, to] = [nextFrom + 1, nextTo + 1]
  }
  return pairs
}

type Gap = { from: number; to: number; nextFrom: number; nextTo: number }

function namesakes(before: readonly unknown[], after: readonly unknown[], { from, to, nextFrom, nextTo }: Gap): Pair[] {
  const left = range(from, nextFrom)
  const pairs: Pair[] = []
  // Two items that stand alone between the same neighbours are one that was changed.
  const isOneForOne = nextFrom - from === 1 && nextTo - to === 1 && typeof before[from] === typeof after[to] && isObject(before[from])
  for (const index of range(to, nextTo)) {
    const label = labelOf(after[index])
    const found = isOneForOne ? 0 : left.findIndex((other) => isObject(after[index]) && labelOf(before[other]) === label)
    if (found < 0) pairs.push({ from: undefined, to: index })
    else {
      // What stands before the namesake has no partner, so that partners keep their order.
      pairs.push(...left.splice(0, found).map((other) => ({ from: other, to: undefined })))
      pairs.push({ from: left.shift()!, to: index })
    }
  }
  return [...pairs, ...left.map((other) => ({ from: other, to: undefined }))]
}

/** Returns the pairs of equal items along a longest common subsequence. */
function commonOf(before: readonly unknown[], after: readonly unknown[]): (readonly [number, number])[] {
  const texts = [before, after].map((items) => items.map((item) => JSON.stringify(canonical(item))))
  const [had, has] = texts as [string[], string[]]
  const [rows, columns] = [had.length, has.length]
  if (rows * columns > mostPairs) return had.flatMap((text, i) => (text === has[i] ? [[i, i] as const] : []))
  const lengths = Array.from({ length: rows + 1 }, () => new Uint32Array(columns + 1))
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--)
      lengths[i]![j] = had[i] === has[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
  }
  const common: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (had[i] === has[j]) common.push([i++, j++])
    else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++
    else j++
  }
  return common
}

/** The lines of two texts that differ, `-` those of the first and `+` those of the second, each with its number. */
export function lineChanges(before: string, after: string): string[] {
  const [had, has] = [before.split('\n'), after.split('\n')]
  const lines: string[] = []
  let [from, to] = [0, 0]
  for (const [nextFrom, nextTo] of [...commonOf(had, has), [had.length, has.length] as const]) {
    for (; from < nextFrom; from++) lines.push(`-${from + 1}: ${had[from]}`)
    for (; to < nextTo; to++) lines.push(`+${to + 1}: ${has[to]}`)
    ;[from, to] = [nextFrom + 1, nextTo + 1]
  }
  return lines
}

/** `after seal_it`, `before seal_it` at the beginning of a list, or that it is the only one. */
function placeText(items: readonly unknown[], index: number): string {
  if (index > 0) return `after ${labelOf(items[index - 1])}`
  return items.length > 1 ? `before ${labelOf(items[1])}` : 'as the only one'
}

/** The name by which people call an item of a list: that of a step, its method, or the operation of an action. */
export function labelOf(item: unknown): string {
  if (!isObject(item)) return valueText(item)
  const { name, method, action } = item
  const own = [name, method, item.do].find((word) => typeof word === 'string')
  if (own !== undefined) return own as string
  if (isObject(action)) return labelOf(action)
  const [kind, first] = Object.entries(item)[0] ?? []
  if (kind === undefined) return '{}'
  if (typeof first === 'string' || typeof first === 'number') return `${kind} ${first}`
  if (Array.isArray(first) && first.every((word) => typeof word === 'string')) return `${kind} ${first.join(', ')}`
  return kind
}

function contentText(value: unknown): string {
  return typeof value === 'object' && value !== null ? '' : ` (${valueText(value)})`
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}

/** The value with sorted members, so that equal content gives equal text. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, canonical(value[name])]))
}

type Members = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}

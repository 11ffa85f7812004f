// Splits a value whose members change at different rates into two parts, each written under its own key, so that a change writes only its part.

/** The members that change often. For an object, a list names the inner members that do; its other members stay in the rest. */
export type Often = { readonly [name: string]: true | readonly string[] }

/** The kinds that are split, and the kind under which their often changing members are written. */
export const apart: { readonly [kind: string]: { readonly kind: string; readonly often: Often } } = {
  thread: {
    kind: 'progress',
    often: {
      status: true,
      since: true,
      seat: true,
      method_id: true,
      action: true,
      move: true,
      scan: true,
      scanned: true,
      labware: ['tips_left', 'state', 'held_by', 'placing', 'taken_by'],
    },
  },
}

/** Returns the members of a value that change often; `restOf` returns the others. */
export function oftenOf(value: object, often: Often): object {
  const part: Value = {}
  for (const name in often) {
    const inner = often[name]!
    part[name] = inner === true ? (value as Value)[name] : oftenIn((value as Value)[name] as Value, inner)
  }
  return part
}

export function restOf(value: object, often: Often): object {
  const part: Value = {}
  for (const name in value) {
    const inner = often[name]
    if (inner === true) continue
    part[name] = inner === undefined ? (value as Value)[name] : restIn((value as Value)[name] as Value, inner)
  }
  return part
}

/** Joins the two parts. Returns `rest` if either is not an object. */
export function joined(rest: unknown, part: unknown, often: Often): unknown {
  if (!isValue(rest) || !isValue(part)) return rest
  const whole = { ...rest, ...part }
  for (const name in often) if (often[name] !== true) whole[name] = Object.assign({}, rest[name], part[name])
  return whole
}

type Value = { [name: string]: unknown }

function oftenIn(value: Value, often: readonly string[]): Value {
  const part: Value = {}
  for (const name of often) part[name] = value[name]
  return part
}

function restIn(value: Value, often: readonly string[]): Value {
  const part: Value = {}
  for (const name in value) if (!often.includes(name)) part[name] = value[name]
  return part
}

function isValue(value: unknown): value is Value {
  return typeof value === 'object' && value !== null
}

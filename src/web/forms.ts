// Names and sorts the operations of devices, and words the fields of forms.

import type { Capabilities } from '../clients/ts/benchd.ts'
import type { Field } from './fields.ts'

type Schema = { type?: string | string[]; properties?: Record<string, Schema>; required?: string[] }

/** Makes a title of a name: `Lock plate` of `lock_plate`. */
export function titled(name: string): string {
  const words = name.replaceAll('_', ' ').replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The main operations of instruments. */
const usual = ['shake', 'seal', 'peel', 'centrifuge', 'store', 'retrieve', 'scan', 'weigh', 'run_profile']

/** Sorts operations: the main one first, which has its place for good, then by how often each was done on the device, then as the device lists them. */
export function mostUsedFirst<Operation extends { name: string }>(
  operations: readonly Operation[],
  usage: readonly { operation: string; times: number }[],
): Operation[] {
  const times = (name: string) => usage.find(({ operation }) => operation === name)?.times ?? 0
  const isUsual = (name: string) => Number(usual.includes(name))
  return [...operations].sort((a, b) => isUsual(b.name) - isUsual(a.name) || times(b.name) - times(a.name))
}

/** Returns the operation without parameters that a refusal or a failure names as its remedy, such as `lock_plate`; undefined if it names none. */
export function remedyIn<Operation extends Capabilities['operations'][number]>(
  sentence: string,
  operations: readonly Operation[],
): Operation | undefined {
  return operations.find(
    ({ name, params }) =>
      name.includes('_') && ((params as Schema).required ?? []).length === 0 && new RegExp(`\\b${name}\\b`).test(sentence),
  )
}

/** Whether an operation takes null for a parameter. */
export function takesNull({ params }: Capabilities['operations'][number], name: string): boolean {
  const { type } = (params as Schema).properties?.[name] ?? {}
  return Array.isArray(type) && type.includes('null')
}

/** Returns what is typed after a step down or up, within the limits: the least value where no number is typed. */
export function stepped(typed: string, sign: 1 | -1, { min, max, step = stepFor(min, max) }: Pick<Field, 'min' | 'max' | 'step'>): string {
  const value = typed.trim() === '' ? Number.NaN : Number(typed.replace(',', '.'))
  const from = Number.isFinite(value) ? value + sign * step : (min ?? 0)
  const next = Math.min(max ?? Number.POSITIVE_INFINITY, Math.max(min ?? Number.NEGATIVE_INFINITY, from))
  return String(Number(next.toFixed(6)))
}

/** Returns a step that divides the range by about fifty. */
function stepFor(min: number | undefined, max: number | undefined): number {
  if (min === undefined || max === undefined) return 1
  const rough = (max - min) / 50
  const power = 10 ** Math.floor(Math.log10(rough || 1))
  return [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough) ?? 1
}

/** Makes the label of a variable, with its unit, which older workflows have at the end of its description, as in `Of the shaker, in rpm`. */
export function variableLabel(name: string, description: string | undefined, declared?: string): string {
  const unit = declared ?? /,? in ([^\s,.]{1,8})\.?$/.exec(description ?? '')?.[1]
  return unit ? `${titled(name)} (${unit})` : titled(name)
}

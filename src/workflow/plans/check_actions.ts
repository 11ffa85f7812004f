// Checks the actions at devices: the device has the operation, accepts its parameters, and has room for its labware.

import type * as v from 'valibot'
import { strictObject } from 'valibot'
import { checkLimits, checkListLimits } from '../../devices/limits.ts'
import { heldOf, isNullable, isOptional, operations } from '../../devices/operations.ts'
import { readings } from '../../devices/reading_table.ts'
import type { LabError } from '../../errors.ts'
import { checked } from '../../kit/schema.ts'
import type { WorkflowDocument } from './documents.ts'
import { located, mustHave, wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { filledIn, placeText, type VariablePlace, variablesIn } from './params.ts'
import { type ActionPlan, actionsOf } from './plan.ts'
import type { KnownDevice } from './topology.ts'

/** Throws `invalid`, naming the place. */
export function checkActions(draft: Draft): void {
  for (const action of actionsOf(draft)) {
    const at = `${draft.where}: ${action.path}`
    if (action.kind === 'code') checkCode(action, at)
    if (action.kind !== 'do' && action.kind !== 'code') continue
    checkTips(action, draft, at)
    if (action.kind === 'do') checkParams(action, draft, at)
    for (const device_id of action.devices) checkDevice(action, draft.topology.devices.get(device_id)!, at)
  }
}

function checkCode({ devices, labware }: ActionPlan, at: string): void {
  if (devices.length === 0 && labware.length > 0) throw wrong(`${at}.labware`, 'labware is brought to a device; say to which with "on"')
}

type OnDevice = ActionPlan & { kind: 'do' | 'code' }

function checkTips({ action, labware }: OnDevice, { document }: Draft, at: string): void {
  for (const [name, count] of Object.entries(action.tips)) {
    const place = `${at}.tips.${name}`
    const { kind, tips } = document.labware[name]!
    if (!labware.includes(name)) throw wrong(place, `${name} is not among the labware of the action`)
    if (kind !== 'tip_rack') throw wrong(place, `${name} is a ${kind}, and has no tips; its kind must be tip_rack`)
    if (tips === undefined) throw wrong(place, `nobody knows how many tips ${name} holds; say so in labware.${name}.tips`)
    if (count > tips) throw wrong(place, `${count} tips are more than the ${tips} that ${name} holds`)
  }
}

/** Checks the parameters with the defaults of variables; variables without one are checked at the submission. */
function checkParams(plan: OnDevice & { kind: 'do' }, { document, topology }: Draft, at: string): void {
  const { do: operation, with: params } = plan.action
  if (operation === 'stop') throw wrong(`${at}.do`, 'a stop is for people: it latches the device until somebody initializes it')
  if (heldOf(operation)) throw wrong(`${at}.do`, `${operation} is for people: it lasts only while somebody holds it`)
  for (const device_id of plan.devices) {
    for (const [name, schema] of Object.entries(entriesOf(operation, topology.devices.get(device_id)) ?? {})) {
      if (!isOptional(schema) && !(name in params)) throw wrong(`${at}.with`, `${operation} wants ${name} too`)
    }
  }
  const values = filledIn(params, (variable) => document.variables[variable]?.default)
  checkValues(plan, { values, devices: topology.devices, variables: document.variables }, `${at}.with`)
}

type ActionPlace = {
  values: Record<string, unknown>
  devices: ReadonlyMap<string, KnownDevice>
  /** The variables that the workflow declares. */
  variables: WorkflowDocument['variables']
}

/** Checks parameters of operations that the table or the device describes; the driver checks others. An undefined value is not known yet. */
export function checkValues(
  { action, devices: able }: OnDevice & { kind: 'do' },
  { values, devices, variables }: ActionPlace,
  at: string,
): void {
  for (const { variable, keys } of variablesIn(action.with)) {
    const isNull = valueAt(values, keys) === null && !variables[variable]?.nullable
    const [name, ...within] = keys
    // Null within a value may switch something off, too, and nobody knows what.
    const matters = within.length > 0 || able.some((device_id) => takesNull(action.do, name, devices.get(device_id)))
    if (isNull && matters) throw notNullable(variable, `${at}.${placeText(keys)}`)
  }
  for (const device_id of able) {
    const entries = entriesOf(action.do, devices.get(device_id))
    if (!entries) continue
    for (const [name, value] of Object.entries(values)) {
      mustHave(action.do, 'parameter', { word: name, known: Object.keys(entries) }, at)
      if (value !== undefined) checked(strictObject({ [name]: entries[name]! }), { [name]: value }, at)
    }
  }
  if (!entriesOf(action.do)) return
  const negative = ['speed', 'duration', 'g'].find((name) => Number(values[name]) < 0)
  if (negative) throw wrong(at, `${negative} must not be negative`)
  for (const device_id of able) {
    const { limits, own } = devices.get(device_id)!
    located(at, () => checkLimits(device_id, values, limits))
    if (!own.has(action.do)) located(at, () => checkListLimits(device_id, values, limits))
  }
}

function valueAt(values: Readonly<Record<string, unknown>>, keys: VariablePlace['keys']): unknown {
  return keys.reduce<unknown>((value, key) => Object(value)[key], values)
}

/** Makes the error for a null variable that is not declared nullable, because a forgotten value must not switch anything off. */
export function notNullable(variable: string, at: string): LabError {
  return wrong(at, `the variable ${variable} is null, and null switches off; give it a value, or declare it with "nullable": true`)
}

/** Whether the parameter accepts null. */
export function takesNull(operation: string, name: string, device?: KnownDevice): boolean {
  const schema = entriesOf(operation, device)?.[name]
  return schema !== undefined && isNullable(schema)
}

/** Returns the schemas of the parameters, none for a reading; undefined for an operation that neither the table nor the device describes. */
export function entriesOf(operation: string, device?: KnownDevice): Record<string, v.GenericSchema> | undefined {
  const own = device?.own.get(operation)
  if (own) return own.params.entries
  if (Object.hasOwn(readings, operation)) return {}
  return Object.hasOwn(operations, operation) ? operations[operation as keyof typeof operations].params.entries : undefined
}

function checkDevice({ action, labware }: OnDevice, device: KnownDevice, at: string): void {
  const { device_id, sites } = device
  if (labware.length > sites) throw wrong(`${at}.labware`, `${labware.length} labware are more than ${device_id} has sites for: ${sites}`)
  checkSites(action.sites, { labware, device }, at)
  if (!('do' in action)) return
  checkCan(action.do, device, at)
  const most = device.own.get(action.do)?.labware_sites
  if (most !== undefined && labware.length > most)
    throw wrong(`${at}.labware`, `${labware.length} labware are more than ${action.do} of ${device_id} takes at once: ${most}`)
}

function checkCan(operation: string, { device_id, operations, configured, isUndescribed }: KnownDevice, at: string): void {
  const known = [...operations.keys()]
  if (known.includes(operation)) return
  if (isUndescribed)
    throw wrong(
      `${at}.do`,
      `nobody knows what ${device_id} can do: its program has never run; start that once, so that it describes itself`,
    )
  if (known.length) mustHave(device_id, 'operation', { word: operation, known }, `${at}.do`)
  const why = configured ? 'its driver knows none' : 'it has no driver'
  throw wrong(`${at}.do`, `nobody knows what ${device_id} can do: ${why}; say so in devices.${device_id}.operations of the topology`)
}

function checkSites(
  wanted: Readonly<Record<string, number>>,
  { labware, device }: { labware: readonly string[]; device: KnownDevice },
  at: string,
): void {
  const taken = new Map<number, string>()
  for (const [name, site] of Object.entries(wanted)) {
    const place = `${at}.sites.${name}`
    if (!labware.includes(name)) throw wrong(place, `${name} is not among the labware of the action`)
    if (site > device.sites) throw wrong(place, `${device.device_id} has no site ${site}: it has ${device.sites}`)
    const other = taken.get(site)
    if (other) throw wrong(place, `${other} is on site ${site} already`)
    taken.set(site, name)
  }
}

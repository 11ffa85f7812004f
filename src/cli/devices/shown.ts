// Prints devices: the list, one device, its capabilities, and its wire log.

import type { Capabilities, DeviceInfo, DeviceState, DeviceSummary, OperationRecord, Reading } from '../../devices/records.ts'
import type { Wire, WireFrame } from '../../devices/wire_log.ts'
import { authorText } from '../../kit/author.ts'
import { clock, inSeconds } from '../../kit/seconds.ts'
import { shows } from '../asking.ts'
import { atShell, short } from '../at_shell.ts'
import { ask, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { heatingAndRemedy, heatingText } from '../heating.ts'
import { localTime } from '../local_time.ts'
import { queryOf, spanOptions } from '../moment.ts'
import { date, print, table } from '../table.ts'
import { colored, note, noteNone } from '../terminal.ts'
import { pathOf } from './perform.ts'

const devicesList = command({
  name: 'devices list',
  aliases: ['devices'],
  summary: 'List the devices with their states',
  options: serviceOptions,
  async run({ options }) {
    const devices = await devicesOf(serviceOf(options))
    print(options.json ? JSON.stringify({ devices }) : deviceTable('ID', devices))
    noteNone(devices, 'no device is configured; to add one: benchd devices add')
  },
})

const devicesShow = shows({
  name: 'devices show',
  summary: 'Show a device with its state, its operation, and its latched stop or fault',
  operands: ['ID'],
  path: ({ operands: [id = ''] }) => pathOf(id),
  text: described,
})

const devicesCaps = shows({
  name: 'devices caps',
  summary: 'Show the operations of a device and their limits',
  operands: ['ID'],
  path: ({ operands: [id = ''] }) => `${pathOf(id)}/capabilities`,
  text: capabilities,
})

const devicesWire = shows({
  name: 'devices wire',
  summary: 'Show the last messages on the wire of a device; benchd replay reads the output of --json',
  operands: ['ID'],
  options: { fault: { type: 'boolean', help: 'Show the messages before the latched fault' } },
  path: ({ operands: [id = ''] }) => `${pathOf(id)}/wire`,
  text: ({ frames, fault_frames }: Wire, { options }) => (options.fault ? (fault_frames ?? []) : frames).map(frame).join('\n'),
  also: ({ frames, fault_frames }, { options }) =>
    noteNone(options.fault ? (fault_frames ?? []) : frames, options.fault ? 'no fault is latched' : 'nothing was said on its line yet'),
})

type Page = { operations: (OperationRecord & { text: string })[]; next: string | null }

const devicesOperations = shows({
  name: 'devices operations',
  summary: 'List what the devices did in the last day, by hand or in runs, the newest first, with times in the zone of this computer',
  operands: ['[ID]'],
  options: { ...spanOptions, limit: { type: 'string', value: 'N', help: 'Largest number of entries; default 20' } },
  example: 'benchd devices operations shaker-1 --since 2h',
  path: ({ options: { limit = '20', since, until }, operands: [device_id] }) =>
    `/api/operations${queryOf({ device_id, limit, since, until })}`,
  text: ({ operations }: Page) => table(['BEGAN', 'DEVICE', 'BY', 'TOOK', 'WHAT'], operations.map(operationRow)),
  also({ operations, next }) {
    noteNone(operations, 'no such operation is kept; who asked for what before: benchd audit tail')
    if (next !== null) note('there are more; --limit N shows them')
  },
})

const devicesReadings = shows({
  name: 'devices readings',
  summary: 'Show the readings of a device over the last hour, such as its temperature',
  operands: ['ID'],
  path: ({ operands: [id = ''] }) => `${pathOf(id)}/readings`,
  text: ({ readings }: Told) => readings.map((reading) => `${date(reading.at, 'seconds')}  ${readingText(reading)}`).join('\n'),
  also: ({ device_id, readings }) => noteNone(readings, `${device_id} has told no readings in the last hour`),
})

type Told = { device_id: string; readings: Reading[] }

export const shown = [devicesList, devicesShow, devicesCaps, devicesWire, devicesOperations, devicesReadings]

/** Fetches all devices with their present operations. */
export async function devicesOf(service: Service): Promise<DeviceInfo[]> {
  const { devices } = await ask<{ devices: DeviceSummary[] }>(service, 'GET', '/api/devices')
  return Promise.all(devices.map(({ device_id }) => ask<DeviceInfo>(service, 'GET', pathOf(device_id))))
}

/** Makes the table ID, TYPE, NAME, STATE; with READINGS and FAULT if a device has any. A fault is a long sentence, so it is the last column. */
export function deviceTable(id: string, devices: readonly DeviceInfo[], readings: Readonly<Record<string, Reading>> = {}): string {
  const columns: [string, (device: DeviceInfo) => string][] = [
    [id, ({ device_id }) => device_id],
    ['TYPE', ({ type }) => type],
    ['NAME', ({ name }) => name],
    ['STATE', stateOf],
  ]
  const of = ({ device_id }: DeviceInfo) => readings[device_id]
  if (devices.some(of)) columns.push(['READINGS', (device) => (of(device) ? readingText(of(device)!) : '')])
  if (devices.some(({ fault }) => fault)) columns.push(['FAULT', ({ fault }) => atShell(fault?.error ?? '')])
  const head = columns.map(([name]) => name)
  return table(
    head,
    devices.map((device) => columns.map(([, cell]) => cell(device))),
  )
}

const colors: Partial<Record<DeviceState, Parameters<typeof colored>[0]>> = {
  ready: 'green',
  busy: 'yellow',
  stopped: 'red',
  faulted: 'red',
  disconnected: 'red',
}

/** Formats readings with their targets, such as `37.0 °C (37), pressure 900 mbar`. */
function readingText({ temperature, target, others = {} }: Reading): string {
  const aim = (target: number | null) => (target === null ? '' : ` (${target})`)
  return [
    ...(temperature === null ? [] : [`${temperature.toFixed(1)} °C${aim(target)}`]),
    ...Object.entries(others).map(([name, its]) => `${name} ${its.value}${its.unit && ` ${its.unit}`}${aim(its.target)}`),
  ].join(', ')
}

/** Words the state, with heat, operation, lock and simulation. */
function stateOf({ state, operation, lock, simulated, may_still_be_on, heating, unfit }: DeviceInfo): string {
  const color = colors[state]
  const more = [
    may_still_be_on && colored('red', 'may still be on'),
    operation && `${operation.name}, ${operation.ending ? 'ending early' : `${clock(operation.seconds_left)} left`}`,
    heating && heatingText(heating),
    lock && `kept by ${atShell(lock.owner)}`,
    unfit && 'not for LIVE runs',
    simulated && 'simulated',
  ].filter(Boolean)
  return [color ? colored(color, state) : state, ...(more.length ? [`(${more.join('; ')})`] : [])].join(' ')
}

function described(device: DeviceInfo): string {
  const { device_id, type, name, driver, identity, lock, fault, stopped, heating, last_operation: last } = device
  const facts = {
    state: stateOf(device),
    heating: heating && heatingAndRemedy(device_id, heating),
    driver,
    identity: identity && Object.values(identity).filter(Boolean).join(', '),
    unfit: device.unfit && `for LIVE runs: ${atShell(device.unfit)}`,
    lock: lock && [lock.owner, lock.note, lock.expires_at === null ? null : `until ${date(lock.expires_at)}`].filter(Boolean).join(', '),
    fault:
      fault &&
      `${atShell(fault.error)} (${fault.command ?? 'by itself'}, ${date(fault.since)})${fault.may_still_be_moving ? '; may still be moving' : ''}`,
    stopped:
      stopped &&
      [stopped, stopped.again]
        .flatMap((stop) => (stop ? [`${date(stop.at)}${stop.by === null ? '' : ` by ${stop.by}`}`] : []))
        .join(', again '),
    last: last && `${last.operation}, ${date(last.started)}: ${atShell(last.result?.message ?? last.detail ?? last.status)}`,
  }
  const lines = Object.entries(facts).flatMap(([fact, value]) => (value ? [`${fact.padEnd(10)}${value}`] : []))
  return [`${device_id}  ${type}  ${name}`, '', ...lines].join('\n')
}

function capabilities({ device_id, type, driver, model, source, operations, limits, features, safety }: Capabilities): string {
  const rows = operations.map(({ name, params, typical_seconds, max_seconds, can_end_early }) => {
    const wanted = Object.keys(Object(params.properties))
    return [
      name.replaceAll('_', '-'),
      wanted.map((param) => `--${param.replaceAll('_', '-')}`).join(' '),
      inSeconds(typical_seconds),
      inSeconds(max_seconds),
      can_end_early ? 'yes' : '',
    ]
  })
  const bounds = Object.entries(limits).map(([name, { min, max, unit, step }]) => [
    name,
    String(min),
    String(max),
    String(step ?? ''),
    unit,
  ])
  const params = describedParams(operations, limits)
  const has = Object.keys(features).filter((name) => features[name])
  return [
    `${device_id}  ${type}  ${driver}  ${model}; limits of the ${source}`,
    table(['OPERATION', 'WITH', 'USUALLY', 'AT MOST', 'ENDS EARLY'], rows),
    ...(bounds.length ? [table(['LIMIT', 'FROM', 'TO', 'STEP', 'UNIT'], bounds)] : []),
    ...(params.length ? [table(['PARAMETER', 'TYPE', 'FROM', 'TO', 'STEP', 'UNIT', 'DEFAULT', 'CHOICES'], params)] : []),
    ...(has.length ? [`has: ${has.join(', ')}`] : []),
    safety,
  ].join('\n\n')
}

/** The parts of the JSON Schema of a parameter that a person wants to see. */
type Shown = {
  type?: string | string[]
  enum?: unknown[]
  items?: Shown
  unit?: string
  default?: unknown
  multipleOf?: number
} & { [bound in 'minimum' | 'maximum' | 'minItems' | 'maxItems']?: number }

/** Lists the parameters that are described with their operation, such as `read --wavelength`, except those with a limit of the device. */
function describedParams(operations: Capabilities['operations'], limits: Capabilities['limits']): string[][] {
  return operations.flatMap(({ name, params }) =>
    Object.entries((params.properties ?? {}) as Record<string, Shown>)
      .filter(([param]) => !(param in limits))
      .map(([param, schema]) => {
        const { minimum, maximum, minItems, maxItems, multipleOf, unit = '', enum: choices = [], default: usual } = schema
        const cells = [minimum ?? minItems, maximum ?? maxItems, multipleOf].map((bound) => String(bound ?? ''))
        const what = `${name.replaceAll('_', '-')} --${param.replaceAll('_', '-')}`
        return [what, typeText(schema), ...cells, unit, usual === undefined ? '' : shortText(usual), choicesText(choices)]
      }),
  )
}

/** Words a type, such as `number or null` and `array of string`. */
function typeText({ type = 'any', items }: Shown): string {
  return [type]
    .flat()
    .map((one) => (one === 'array' && items ? `array of ${typeText(items)}` : one))
    .join(' or ')
}

const mostChoices = 8

function choicesText(choices: readonly unknown[]): string {
  const more = choices.length > mostChoices ? `, and ${choices.length - mostChoices} more` : ''
  return choices.slice(0, mostChoices).map(shortText).join(', ') + more
}

function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return atShell(text.length > 40 ? `${text.slice(0, 39)}…` : text)
}

function frame({ at, direction, text, hex }: WireFrame): string {
  return `${localTime(at, 'milliseconds')}  ${direction === 'to_device' ? '>' : '<'} ${text.padEnd(24)}  ${hex}`
}

function operationRow({ device_id, execution_id, by, operator, started, ended, text }: Page['operations'][number]): string[] {
  const who = execution_id === null ? authorText(by, operator) || '-' : `run ${short(execution_id)}`
  return [localTime(started, 'seconds'), device_id, who, ended === null ? '' : inSeconds(ended - started), text]
}

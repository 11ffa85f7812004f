// The discovery messages from which Home Assistant makes its devices and entities: the form of a whole device, which it reads since 2024.11.
// Source of the form: homeassistant/components/mqtt/schemas.py of its repository (0f5c1b54), and its documentation of MQTT discovery.

import type { Identity } from '../devices/device.ts'
import { availability } from './topics.ts'

type Bench = {
  system_id: string
  version: string
  /** The address of the page. */
  url: string | undefined
  /** The first part of all topics. */
  topic: string
  /** Whether commands are carried out. */
  hasCommands: boolean
}

export type DiscoveredDevice = {
  device_id: string
  name: string
  type: string
  driver: string
  /** The identity of the instrument; null where it was not asked. */
  identity: Identity | null
}

/** A reading by its member of the topic `readings`. */
export type DiscoveredReading = { name: string; path: string; unit: string }

/** Home Assistant's words for what a unit measures (homeassistant/components/sensor/const.py). */
const classes: Readonly<Record<string, string>> = { '°C': 'temperature', g: 'weight', s: 'duration' }
/** A percentage says nothing by itself, so the name of the reading decides. */
const classesByName: Readonly<Record<string, string>> = { humidity: 'humidity' }

/** Returns the message about a device, without undefined members. */
export function discoveryOf(bench: Bench, device: DiscoveredDevice, readings: readonly DiscoveredReading[]): object {
  const { device_id, name, identity } = device
  const base = `${bench.topic}/device/${device_id}`
  const unique = `benchd_${bench.system_id}_${device_id}`
  const state = { state_topic: `${base}/state` }
  const sensors = readings.map(({ name, path, unit }) => {
    const device_class = classesByName[name] ?? classes[unit]
    const words = { name: wordsOf(name), state_topic: `${base}/readings`, value_template: `{{ ${path} }}` }
    const measured = { unit_of_measurement: unit, state_class: 'measurement', ...(device_class && { device_class }) }
    return [name, { platform: 'sensor', unique_id: `${unique}_${name}`, ...words, ...measured }] as const
  })
  const stop = { platform: 'button', unique_id: `${unique}_stop`, name: 'Stop', command_topic: `${base}/stop`, icon: 'mdi:octagon' }
  return {
    device: {
      identifiers: [unique],
      name,
      ...filled({
        model: identity?.model ?? device.driver,
        serial_number: identity?.serial_number,
        sw_version: identity?.firmware_version,
        configuration_url: bench.url,
      }),
      via_device: `benchd_${bench.system_id}`,
    },
    ...aboutService(bench),
    components: {
      state: { platform: 'sensor', unique_id: `${unique}_state`, name: 'State', ...state, value_template: '{{ value_json.state }}' },
      problem: {
        platform: 'binary_sensor',
        unique_id: `${unique}_problem`,
        name: 'Problem',
        device_class: 'problem',
        ...state,
        value_template: "{{ 'ON' if value_json.fault or value_json.stopped else 'OFF' }}",
      },
      ...Object.fromEntries(sensors),
      ...(bench.hasCommands && { stop }),
    },
  }
}

/** Returns the message about the bench itself. */
export function benchDiscovery(bench: Bench): object {
  const unique = `benchd_${bench.system_id}`
  const stop = {
    platform: 'button',
    unique_id: `${unique}_stop`,
    name: 'Stop all',
    command_topic: `${bench.topic}/stop`,
    icon: 'mdi:octagon',
  }
  return {
    device: {
      identifiers: [unique],
      name: `Bench ${bench.system_id}`,
      manufacturer: 'benchd',
      sw_version: bench.version,
      ...filled({ configuration_url: bench.url }),
    },
    ...aboutService(bench),
    components: {
      state: {
        platform: 'sensor',
        unique_id: `${unique}_state`,
        name: 'Health',
        state_topic: `${bench.topic}/state`,
        value_template: '{{ value_json.status }}',
      },
      ...(bench.hasCommands && { stop }),
    },
  }
}

/** Returns the readings in a value of the topic `readings`. */
export function readingsIn(value: Readonly<Record<string, unknown>>): DiscoveredReading[] {
  const others = Object.entries((value['others'] ?? {}) as Record<string, { unit: string }>)
  return [
    ...(value['temperature'] === null ? [] : [{ name: 'temperature', path: 'value_json.temperature', unit: '°C' }]),
    ...others.map(([name, { unit }]) => ({ name: entityName(name), path: `value_json.others[${JSON.stringify(name)}].value`, unit })),
  ]
}

function aboutService({ version, topic }: Bench) {
  return {
    origin: { name: 'benchd', sw_version: version },
    availability_topic: `${topic}/${availability.topic}`,
    payload_available: availability.online,
    payload_not_available: availability.offline,
  }
}

/** Home Assistant takes letters, digits, hyphens and underscores in the ids of discovery. */
function entityName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_')
}

function wordsOf(name: string): string {
  const text = name.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function filled(members: Readonly<Record<string, string | null | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value ? [[name, value]] : [])))
}

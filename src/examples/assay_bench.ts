// The bench of `benchd demo --bench assay`: all devices of the bead assay, simulated from descriptions, so that it also runs in LIVE and DEVICE_SIM.

import type { Teachpoint } from '../teachpoints/teachpoint.ts'
import { smcTopology } from './smc_assay.ts'
import { shakers } from './smc_parts.ts'

const transport = { kind: 'simulated' }
const text = { type: 'string' }

/** Returns a device of the driver `simulated`. */
function simulated(device_id: string, type: string, operations: object) {
  return { device_id, driver: 'simulated', type, transport, settings: { model: type.replaceAll('_', ' '), operations } }
}

function runsProtocols(device_id: string, type: string, seconds: number) {
  const params = { properties: { protocol: { ...text, description: 'The protocol, as the instrument calls it' } }, required: ['protocol'] }
  return simulated(device_id, type, { run_protocol: { summary: 'Run a protocol', params, seconds } })
}

/** Returns an operation whose `duration` sets how long it takes. */
function asAsked(params: Record<string, { unit: string; minimum: number; maximum: number }>) {
  const properties = Object.fromEntries(Object.entries(params).map(([name, range]) => [name, { type: 'number', ...range }]))
  return { params: { properties, required: Object.keys(params) }, seconds: { param: 'duration' }, can_end_early: true }
}

const duration = { unit: 's', minimum: 0, maximum: 86_400 }
const shaking = { shake: asAsked({ speed: { unit: 'rpm', minimum: 0, maximum: 3000 }, duration }) }
const spinning = { centrifuge: asAsked({ g: { unit: '×g', minimum: 0, maximum: 4000 }, duration }) }
const sealing = { seal: asAsked({ temperature: { unit: '°C', minimum: 20, maximum: 200 }, duration }) }
const reading = {
  read: { summary: 'Read a plate', params: { properties: { protocol: text, output: text }, required: ['protocol'] }, seconds: 600 },
}

const transporters = smcTopology.transporters ?? {}
const translators = smcTopology.translators ?? {}
/** The devices that carry labware, with the positions that each reaches. */
const carriers: [device_id: string, positions: readonly string[]][] = [
  ...Object.entries(transporters).map(([id, { positions }]) => [id, positions] as [string, readonly string[]]),
  ...Object.entries(translators).map(([id, stations]) => [id, stations] as [string, readonly string[]]),
]

/** The configuration of the bench, as it would stand in a file. A translator is an arm that goes between two stations. */
export const assayBench = {
  format: 1,
  devices: [
    ...['bravo_96', 'bravo_384'].map((id) => runsProtocols(id, 'liquid_handler', 300)),
    ...['biotek_1', 'biotek_2'].map((id) => runsProtocols(id, 'washer', 240)),
    ...shakers.map((id) => simulated(id, 'shaker', shaking)),
    simulated('centrifuge', 'centrifuge', spinning),
    simulated('sealer', 'sealer', sealing),
    simulated('smc_pro', 'reader', reading),
    simulated('delidder', 'delidder', { delid: { summary: 'Take the lid off', seconds: 15 } }),
    // This speed gives the hop durations of the topology.
    ...carriers.map(([device_id]) => ({ device_id, driver: 'arm', transport, settings: { speed: 500 } })),
  ],
}

/** A point for each position of each transporter, on an arc within its reach; the sites of a position are a few centimetres apart. */
export const assayTeachpoints: readonly Teachpoint[] = carriers.flatMap(([device_id, positions]) =>
  positions.flatMap(sitesOf).map((name, i, all) => {
    const angle = (Math.PI * (i + 1)) / (all.length + 1)
    const [x, y] = [Math.cos(angle), Math.sin(angle)].map((part) => Math.round(part * 600 * 10) / 10) as [number, number]
    return { device_id, name, coord_type: 'cartesian', coords: { x, y, z: 60, yaw: 0, pitch: 0, roll: 0 } }
  }),
)

function sitesOf(position: string): string[] {
  const { device } = smcTopology.positions[position] ?? {}
  const sites = (device !== undefined && smcTopology.devices?.[device]?.sites) || 1
  return sites === 1 ? [position] : Array.from({ length: sites }, (_, i) => `${position}/site-${i + 1}`)
}

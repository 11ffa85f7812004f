// Checks the positions of a topology: each can be reached, and has only one kind.

import { mustBeKnown, mustBeOnce, wrong } from './mistakes.ts'
import type { TopologyDocument } from './topology_schema.ts'

/** Throws `invalid`, naming the place. */
export function checkPlaces(document: TopologyDocument, where: string): void {
  for (const check of [eachIsReached, eachIsOneKind, slotsAreOfOneStorage, sitesAreDeclaredOnce, siteNamesAreFree, translatorsAreShuttles])
    check(document, where)
}

function eachIsReached({ positions, transporters }: TopologyDocument, where: string): void {
  for (const [id, { positions: reached }] of Object.entries(transporters)) {
    const at = `${where}: transporters.${id}.positions`
    mustBeOnce(reached, at)
    reached.forEach((name, i) => {
      mustBeKnown('position', name, Object.keys(positions), `${at}[${i}]`)
    })
  }
  const all = new Set(Object.values(transporters).flatMap(({ positions }) => positions))
  for (const name of Object.keys(positions)) {
    if (!all.has(name)) throw wrong(`${where}: positions.${name}`, 'no transporter reaches it; put it among the positions of one')
  }
}

/** The kinds that exclude each other, with the reasons. */
const kinds = [
  ['device', 'parking', 'labware is not parked in the nest of a device'],
  ['device', 'storage', 'a storage is no nest of a device: labware that stands in a nest takes up the place'],
  ['parking', 'storage', 'a storage needs no parking: it has room for all that is brought there'],
  ['device', 'handover', 'a carrier never reaches into a device'],
  ['parking', 'handover', 'labware that is parked there would be in the way of a carrier'],
  ['storage', 'handover', 'labware that is handed over has a place of its own'],
  ['slots', 'device', 'a storage is the transporter that reaches its slots, and no device with a nest'],
  ['slots', 'storage', 'slots hold one labware each, and `storage` stands for a stacker without numbers'],
  ['slots', 'handover', 'a carrier never reaches into a storage'],
] as const

function eachIsOneKind({ positions }: TopologyDocument, where: string): void {
  for (const [name, position] of Object.entries(positions)) {
    for (const [one, other, why] of kinds) {
      if (position[one] && position[other]) throw wrong(`${where}: positions.${name}`, `it has both ${one} and ${other}; ${why}`)
    }
  }
}

/** Checks that one transporter reaches the slots of a storage, and that it has a transfer station. */
function slotsAreOfOneStorage({ positions, transporters }: TopologyDocument, where: string): void {
  for (const [name, { slots }] of Object.entries(positions)) {
    if (slots === undefined) continue
    const at = `${where}: positions.${name}.slots`
    const [storage, ...others] = Object.entries(transporters).filter(([, { positions: reached }]) => reached.includes(name))
    if (others.length > 0)
      throw wrong(
        at,
        `only the storage itself reaches its slots, and ${others[0]![0]} does too; give ${others[0]![0]} its transfer station`,
      )
    const [id, { positions: reached }] = storage!
    const slotted = reached.filter((other) => positions[other]?.slots !== undefined)
    if (slotted.length > 1)
      throw wrong(at, `${id} reaches ${slotted.join(' and ')}; give all of its slots one position, numbered as the instrument does`)
    if (reached.length < 2)
      throw wrong(
        `${where}: transporters.${id}.positions`,
        `${id} reaches its slots only; add the position of its transfer station, where an arm puts labware down`,
      )
  }
}

/** Checks that either one position has all the sites of a device, or each has one. */
function sitesAreDeclaredOnce({ positions, devices }: TopologyDocument, where: string): void {
  for (const [id, { sites }] of Object.entries(devices)) {
    const entries = Object.values(positions).filter(({ device }) => device === id).length
    if (entries < 2 || sites === 1 || sites === entries) continue
    throw wrong(`${where}: devices.${id}.sites`, `${entries} positions are nests of ${id}, each of one labware; leave sites out`)
  }
}

/** Checks that the names of sites, such as `nest/site-1`, are not used by other positions. */
function siteNamesAreFree({ positions, devices }: TopologyDocument, where: string): void {
  for (const name of Object.keys(positions)) {
    const [position = '', site = ''] = name.split(/\/(?:site|slot)-(?=\d+$)/)
    const slots = Object.hasOwn(positions, position) ? positions[position]?.slots : undefined
    if (slots !== undefined && site && Number(site) <= slots)
      throw wrong(`${where}: positions.${name}`, `so a slot of ${position} is called; give the position another name`)
    const device = Object.hasOwn(positions, position) ? positions[position]?.device : undefined
    if (!site || device === undefined || Number(site) > (devices[device]?.sites ?? 1)) continue
    throw wrong(`${where}: positions.${name}`, `so a site of ${device} is called; give the position another name`)
  }
}

function translatorsAreShuttles({ positions, transporters, translators }: TopologyDocument, where: string): void {
  const taken = new Map<string, string>()
  for (const [id, stations] of Object.entries(translators)) {
    const at = `${where}: translators.${id}`
    if (Object.hasOwn(transporters, id)) throw wrong(at, `${id} is a transporter already; give the translator another name`)
    stations.forEach((name, i) => {
      const place = `${at}[${i}]`
      mustBeKnown('position', name, Object.keys(positions), place)
      const other = taken.get(name)
      if (other) throw wrong(place, `${name} is a station of ${other} already; the stations of a translator are its own`)
      taken.set(name, id)
      const { device, storage, parking, handover, slots } = positions[name]!
      if (device || storage || parking || handover || slots)
        throw wrong(place, `${name} is a station, which only passes labware on: no device, storage, slots, parking or handover`)
    })
  }
}

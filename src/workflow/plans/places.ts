// Checks the positions of a topology: each can be reached, and has only one kind.

import type { TopologyDocument } from './documents.ts'
import { mustBeKnown, mustBeOnce, wrong } from './mistakes.ts'

/** Throws `invalid`, naming the place. */
export function checkPlaces(document: TopologyDocument, where: string): void {
  for (const check of [eachIsReached, eachIsOneKind, sitesAreDeclaredOnce, siteNamesAreFree, translatorsAreShuttles]) check(document, where)
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
] as const

function eachIsOneKind({ positions }: TopologyDocument, where: string): void {
  for (const [name, position] of Object.entries(positions)) {
    for (const [one, other, why] of kinds) {
      if (position[one] && position[other]) throw wrong(`${where}: positions.${name}`, `it has both ${one} and ${other}; ${why}`)
    }
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
    const [position = '', site = ''] = name.split(/\/site-(?=\d+$)/)
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
      const { device, storage, parking, handover } = positions[name]!
      if (device || storage || parking || handover)
        throw wrong(place, `${name} is a station, which only passes labware on: no device, storage, parking or handover`)
    })
  }
}

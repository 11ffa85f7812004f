// Checks the scanners of a topology: each exists, and can scan.

import { didYouMean } from '../../kit/did_you_mean.ts'
import type { Bench, BenchDevice } from './bench.ts'
import { member, mustHave, wrong } from './mistakes.ts'
import type { TopologyDocument } from './topology_schema.ts'

/** Lists the scanners, each once, in the order of the document. */
export function scannersOf({ positions, transporters }: TopologyDocument): string[] {
  return [...new Set([...Object.values(positions), ...Object.values(transporters)].flatMap(({ scanner }) => scanner ?? []))]
}

/** Throws `invalid`, naming the place, for a scanner that does not exist or cannot scan. A device that the topology declares scans in PURE_SIM only. */
export function checkScanners(document: TopologyDocument, bench: Bench, where: string): void {
  for (const [name, { scanner }] of Object.entries(document.positions))
    if (scanner !== undefined) checkScanner(scanner, `${where}: ${member('positions', name)}.scanner`)
  for (const [id, { scanner }] of Object.entries(document.transporters)) {
    if (scanner === undefined) continue
    const at = `${where}: transporters.${id}.scanner`
    if (bench.devices.some(({ device_id, isPerson }) => device_id === id && isPerson))
      throw wrong(at, `${id} is a person, whose tasks ask for the barcode with the setting ask_barcode`)
    checkScanner(scanner, at)
  }

  function checkScanner(scanner: string, at: string): void {
    if (Object.hasOwn(document.transporters, scanner)) throw wrong(at, `${scanner} is a transporter, and reads no barcodes`)
    const known = bench.devices.find(({ device_id }) => device_id === scanner)
    if (known) {
      const why = whyNot(known)
      if (why !== undefined) throw wrong(at, why)
      return
    }
    const declared = document.devices[scanner]
    if (declared) {
      mustHave(scanner, 'operation', { word: 'scan', known: Object.keys(declared.operations) }, at)
      return
    }
    const guess = didYouMean(scanner, [...bench.devices.map(({ device_id }) => device_id), ...Object.keys(document.devices)])
    throw wrong(at, `neither the configuration nor devices has a device ${scanner}${guess}`)
  }
}

/** Returns why a device reads no barcodes of labware; undefined if it may. The operations of a device without a driver, or of a bridge that has never run, are unknown. */
function whyNot({ device_id, type, driven, operations, isUndescribed }: BenchDevice): string | undefined {
  if (type === 'storage') return `${device_id} is a storage, whose scan reads its slots; name a scanner`
  if (!driven || isUndescribed || operations.includes('scan')) return undefined
  return `${device_id} is a ${type}, and has no operation scan`
}

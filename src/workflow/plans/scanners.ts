// The scanners of a topology: where each reads the barcodes of labware.

import type { Graph } from './graph.ts'
import type { TopologyDocument } from './topology_schema.ts'

type Placed = { document: TopologyDocument; graph: Pick<Graph, 'positions'> }

/** Returns the scanner that reads labware at a position; undefined without one. All sites of a device share that of its entry. */
export function scannerAt({ document, graph }: Placed, position: string): string | undefined {
  return document.positions[graph.positions.get(position)?.entry ?? position]?.scanner
}

/** Returns the scanner that reads labware in the gripper of a transporter; undefined without one. */
export function scannerOf({ document }: Pick<Placed, 'document'>, transporter: string): string | undefined {
  return document.transporters[transporter]?.scanner
}

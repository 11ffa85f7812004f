// The picture of a kind of device, as cards and the deck draw it: lines of one colour on 24 by 24.

import type { DeviceInfo } from '../clients/ts/benchd.ts'

const plate = 'M4 16h16v4H4z'
const box = 'M4 5h16v14H4zM8 9h8'

/** The lines of each kind, as the path of an SVG; a kind that is not named is a box. */
const paths: Record<string, string> = {
  shaker: 'M6 9h12v4H6zM3 17h18v3H3zM12 13v4M6 5 3 7l3 2M18 5l3 2-3 2',
  sealer: `${plate}M4 13h16M12 3v7M9 7l3 3 3-3`,
  peeler: `${plate}M4 13h9c5 0 6-3 6-7M16 8l3-3 3 3`,
  centrifuge: 'M3 12a9 9 0 0 1 18 0 9 9 0 0 1-18 0M12 12V6M12 12l5 3M12 12l-5 3',
  storage: 'M5 3h14v18H5zM5 9h14M5 15h14M9 6.5h6M9 12.5h6M9 18.5h6',
  scanner: 'M5 6v12M9 6v12M11 6v12M15 6v12M19 6v12M2 12h20',
  balance: 'M5 6h14M12 6v5M6 11h12l3 9H3zM10 16h4',
  thermocycler: `${plate}M4 16v-4h16v4M6 12 8 7h8l2 5M12 2v2`,
  temperature_controller: 'M10 13.5V5a2 2 0 0 1 4 0v8.5a4 4 0 1 1-4 0zM12 9v8M18 6h3M18 10h3',
  transporter: 'M4 20h8M8 20v-7l6-7 4 5M16 14v-3h5v3',
  person: 'M9 7a3 3 0 0 1 6 0 3 3 0 0 1-6 0M5 20c0-5 3-7 7-7s7 2 7 7',
}

/** The path of the kind of a device, on 24 by 24. */
export function kindPath({ type, driver }: Pick<DeviceInfo, 'type' | 'driver'>): string {
  return paths[driver] ?? paths[type] ?? box
}

export function KindIcon({ device }: { device: DeviceInfo }) {
  return (
    <svg class="kind" viewBox="0 0 24 24" aria-hidden="true">
      <path d={kindPath(device)} />
    </svg>
  )
}

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

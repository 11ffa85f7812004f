// The bench of `benchd demo`: three instruments and a robot arm, all simulated, and the teachpoints of the arm.

import type { ConfigFile } from '../config/file.ts'
import type { Teachpoint } from '../teachpoints/teachpoint.ts'

/** The demo's bench, as in a configuration file. */
export const demoBench = {
  format: 1,
  devices: [
    { device_id: 'shaker-1', driver: 'bioshake', name: 'Plate shaker', transport: { kind: 'simulated' } },
    { device_id: 'sealer-1', driver: 'a4s', name: 'Plate sealer', transport: { kind: 'simulated' } },
    { device_id: 'centrifuge-1', driver: 'vspin', name: 'Centrifuge', transport: { kind: 'simulated' } },
    { device_id: 'arm-1', driver: 'arm', name: 'Robot arm', transport: { kind: 'simulated' } },
  ],
} satisfies Partial<ConfigFileInput>

export type ConfigFileInput = Omit<ConfigFile, 'devices'> & { devices: Partial<ConfigFile['devices'][number]>[] }

const onTheDeck: [name: string, x: number, y: number, z: number, yaw: number][] = [
  ['home', 0, 250, 300, 0],
  ['pad_1', 120, 320, 40, 0],
  ['pad_2', 260, 320, 40, 0],
  ['pad_3', 400, 320, 40, 0],
  ['pad_4', 540, 320, 40, 0],
  ['shaker_in', 310.5, -42, 118.2, 90],
  ['shaker_gate', 310.5, 60, 220, 90],
  ['sealer_in', 122, -180.4, 96.7, 90],
  ['sealer_gate', 122, -60, 200, 90],
  ['centrifuge_in', -210.3, 144.9, 132, 180],
  ['centrifuge_gate', -120, 200, 240, 180],
  ['waste', -320, -110, 60, 180],
]

/** Twelve points of the arm. */
export const demoTeachpoints: readonly Teachpoint[] = onTheDeck.map(([name, x, y, z, yaw]) => ({
  device_id: 'arm-1',
  name,
  coord_type: 'cartesian',
  coords: { x, y, z, yaw, pitch: 0, roll: 0 },
  ...(name.endsWith('_in') && { gateway: name.replace('_in', '_gate') }),
}))

// The catalogue of drivers by their names in a configuration. Each driver is loaded when it is first used.

import type { AnyDriver, Driver, PinsDriver, TcpDriver } from './driver.ts'

export const drivers = {
  bioshake: async () => (await import('./bioshake/driver.ts')).driver as Driver,
  ika_shaker: async () => (await import('./ika_shaker/driver.ts')).driver as Driver,
  opentrons_heater_shaker: async () => (await import('./opentrons_heater_shaker/driver.ts')).driver as Driver,
  opentrons_temperature_module: async () => (await import('./opentrons_temperature_module/driver.ts')).driver as Driver,
  opentrons_thermocycler: async () => (await import('./opentrons_thermocycler/driver.ts')).driver as Driver,
  inheco_incubator_shaker: async () => (await import('./inheco_incubator_shaker/driver.ts')).driver as Driver,
  genogrinder: async () => (await import('./genogrinder/driver.ts')).driver as Driver,
  bigbear: async () => (await import('./bigbear/driver.ts')).driver as Driver,
  ohaus_endeavor: async () => (await import('./ohaus_endeavor/driver.ts')).driver as Driver,
  a4s: async () => (await import('./a4s/driver.ts')).driver as Driver,
  plateloc: async () => (await import('./plateloc/driver.ts')).driver as Driver,
  alps: async () => (await import('./alps/driver.ts')).alps as Driver,
  ultraseal: async () => (await import('./alps/driver.ts')).ultraseal as Driver,
  xpeel: async () => (await import('./xpeel/driver.ts')).driver as Driver,
  vspin: async () => (await import('./vspin/driver.ts')).driver as Driver,
  microspin: async () => (await import('./microspin/driver.ts')).driver as TcpDriver,
  hettich: async () => (await import('./hettich/driver.ts')).driver as Driver,
  gpio_shaker: async () => (await import('./gpio_shaker/driver.ts')).driver as PinsDriver,
  gpio_sealer: async () => (await import('./gpio_sealer/driver.ts')).driver as PinsDriver,
  cytomat: async () => (await import('./cytomat/driver.ts')).driver as Driver,
  liconic_stx: async () => (await import('./liconic_stx/driver.ts')).driver as Driver,
  line_scanner: async () => (await import('./line_scanner/driver.ts')).driver as Driver,
  keyence_bl: async () => (await import('./keyence_bl/driver.ts')).driver as Driver,
  mettler_sics: async () => (await import('./mettler_sics/driver.ts')).driver as Driver,
  sartorius_sbi: async () => (await import('./sartorius_sbi/driver.ts')).driver as Driver,
  arm: async () => (await import('./arm/driver.ts')).driver as Driver,
  precise_flex: async () => (await import('./precise_flex/driver.ts')).driver as TcpDriver,
} satisfies Record<string, () => Promise<AnyDriver>>

export type DriverName = keyof typeof drivers
export const driverNames = Object.keys(drivers) as DriverName[]
/** The drivers of instruments on a serial line. */
export type SerialDriverName = {
  [Name in DriverName]: Awaited<ReturnType<(typeof drivers)[Name]>> extends Driver ? Name : never
}[DriverName]

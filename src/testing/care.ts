// For tests: the system files of a computer, laid out in a folder.

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Host, HostFacts } from '../care/host.ts'

/** Content of a file, the target of a link, or a mode besides the content. */
export type Entry = string | Buffer | { link: string } | { content: string | Buffer; mode: number }

/** Keyed by path: `/sys/class/hwmon/hwmon0/name`. */
export type Layout = Record<string, Entry>

export function layOut(root: string, layout: Layout): void {
  for (const [path, entry] of Object.entries(layout)) {
    const place = `${root}${path}`
    mkdirSync(dirname(place), { recursive: true })
    if (typeof entry === 'string' || Buffer.isBuffer(entry)) writeFileSync(place, entry)
    else if ('link' in entry) symlinkSync(entry.link, place)
    else {
      writeFileSync(place, entry.content)
      chmodSync(place, entry.mode)
    }
  }
}

/** A Raspberry Pi that is well: its clock set, its voltage good, its processor warm. */
export const wellPi: Layout = {
  '/proc/device-tree/model': 'Raspberry Pi 4 Model B Rev 1.5\0',
  '/proc/sys/kernel/osrelease': '6.12.34+rpt-rpi-v8\n',
  '/run/systemd/timesync/synchronized': '',
  '/sys/class/hwmon/hwmon0/name': 'cpu_thermal\n',
  '/sys/class/hwmon/hwmon0/temp1_input': '48686\n',
  '/sys/class/hwmon/hwmon1/name': 'rpi_volt\n',
  '/sys/class/hwmon/hwmon1/in0_lcrit_alarm': '0\n',
  '/sys/class/thermal/thermal_zone0/type': 'cpu-thermal\n',
  '/sys/class/thermal/thermal_zone0/temp': '48199\n',
  '/sys/class/thermal/cooling_device0/type': 'pwm-fan\n',
}

/** A computer whose facts a test sets. */
export class HandHost implements Host {
  facts: HostFacts = {
    clock_synced: true,
    under_voltage: false,
    temperature: { celsius: 48, hot: 80 },
    room: { free: 20e9, total: 32e9 },
    wall_ahead_ms: 1.7e12,
  }

  async look(): Promise<HostFacts> {
    return this.facts
  }

  async underVoltage(): Promise<boolean | null> {
    return this.facts.under_voltage
  }

  set(facts: Partial<HostFacts>): void {
    this.facts = { ...this.facts, ...facts }
  }
}

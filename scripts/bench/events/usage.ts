// The CPU and memory that a process has used.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export type Usage = { cpu_us: number; rss_mib: number }

export function usage(): Usage {
  const { user, system } = process.cpuUsage()
  return { cpu_us: user + system, rss_mib: process.memoryUsage.rss() / 2 ** 20 }
}

/** Takes away what nobody needs any more. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

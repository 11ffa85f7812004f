// What a process has used.

export type Usage = { cpu_us: number; rss_mib: number }

export function usage(): Usage {
  const { user, system } = process.cpuUsage()
  return { cpu_us: user + system, rss_mib: process.memoryUsage.rss() / 2 ** 20 }
}

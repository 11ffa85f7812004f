// The CPU, memory and disk use of a process, as the process itself or the kernel tells of it.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
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

/** Returns the memory of a process in MiB: what it holds now, or the most that it ever held. */
export function memoryOf(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  return Number(new RegExp(`^${which}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** Returns the data that a process gave the disks to write and did not take back before they were, in MiB; nothing on a file system in memory. */
export function writtenBy(pid: number): number {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  const bytes = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)?.[1])
  return (bytes('write_bytes') - bytes('cancelled_write_bytes')) / 2 ** 20
}

/** Returns the CPU time of all children that have ended, in milliseconds; the kernel tells it in hundredths of a second (proc(5), cutime). */
export function childrenCpu(): number {
  const fields = statOf('self')
  return (Number(fields[13]) + Number(fields[14])) * 10
}

/** Returns the CPU time of a process until now, in milliseconds (proc(5), utime). */
export function cpuOf(pid: number): number {
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Returns the fields of a process behind its name, which may hold spaces. */
function statOf(pid: number | 'self'): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Resolves with the address that a service prints when it listens. Rejects when it ends before. */
export async function addressOf({ stdout }: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: stdout! })) {
    const [url] = /https?:\/\/[\d.]+:\d+/.exec(line) ?? []
    if (!url) continue
    stdout!.resume()
    return url
  }
  throw new Error('the service ended before it listened')
}

export async function killed(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}

// The computer itself: its Node, its board, its clock, its power and its heat.

import { boardOf, thisHost } from '../host.ts'
import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'
import { properties } from './programs.ts'

/** The oldest Node that everything is tried with, as in `package.json`. */
const oldest = [20, 19] as const

export async function node(version: string = process.versions.node): Promise<Finding> {
  const { ok, fail } = finder('node')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
  if (isNew) return ok(`v${version} (needs ${oldest.join('.')} or newer)`)
  return fail(
    `v${version} is too old: it needs ${oldest.join('.')} or newer`,
    'sudo apt install nodejs, on Debian 13 or Raspberry Pi OS trixie',
  )
}

export async function board({ files }: Patient): Promise<Finding> {
  const { ok } = finder('board')
  const { model, kernel } = await boardOf(files)
  return ok(`${model ?? 'not a board that tells its name'}${kernel ? `, Linux ${kernel}` : ''}`)
}

export async function clock({ files, data_dir, is_this }: Patient): Promise<Finding> {
  const { ok, warn, skip } = finder('clock')
  const { clock_synced } = await thisHost({ data_dir, root: files.root }).look()
  const fix =
    'give the lab a time server, e.g. in /etc/systemd/timesyncd.conf  NTP=192.168.4.1  then: sudo systemctl restart systemd-timesyncd'
  if (clock_synced === true) return ok('set by a time server since the start (timesyncd)')
  if (clock_synced === false) return warn('not synchronized: timesyncd runs and has no answer from a time server', fix)
  // Knows of chrony and others as well: it asks the kernel. Takes a while, so the service itself does not.
  const synchronized = is_this ? (await properties('timedatectl', ['show']))?.NTPSynchronized : undefined
  if (synchronized === 'yes') return ok('synchronized, says the kernel')
  if (synchronized === 'no') return warn('not synchronized, says the kernel', fix)
  return skip('nothing here tells whether the clock is set by a time server')
}

export async function power({ files, data_dir, service }: Patient): Promise<Finding> {
  const { ok, warn, fail, skip } = finder('power')
  const now = await thisHost({ data_dir, root: files.root }).underVoltage()
  const fix = 'use the power supply made for the board, a short cable, and a powered USB hub for instruments'
  if (now === null) return skip('this computer does not tell of its voltage')
  if (now) return fail('under-voltage, within the last two seconds', fix)
  if ((await reasonsOf(service)).includes('under_voltage')) return warn('under-voltage, within the last ten minutes', fix)
  return ok('the voltage is good')
}

export async function temperature({ files, data_dir }: Patient): Promise<Finding> {
  const { ok, warn, skip } = finder('temperature')
  const { temperature: found } = await thisHost({ data_dir, root: files.root }).look()
  if (!found) return skip('this computer does not tell how hot its processor is')
  const words = `the processor has ${Math.round(found.celsius)} °C`
  if (found.celsius < found.hot) return ok(words)
  return warn(`${words}, and slows down by itself from ${found.hot} °C`, 'give it air, a heat sink or a fan')
}

async function reasonsOf(service: Patient['service']): Promise<string[]> {
  return service.is === 'answering' ? (await service.get<{ reasons: string[] }>('/health')).reasons : []
}

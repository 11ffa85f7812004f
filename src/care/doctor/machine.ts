// The computer itself: its Node, board, clock, power and temperature.

import type { HostFiles } from '../../kit/host_files.ts'
import { boardOf, thisHost } from '../host.ts'
import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'
import { properties } from './programs.ts'

/** The oldest Node that is tested, as in `package.json`. */
const oldest = [20, 19] as const

/** The last day on which the Node.js project maintains a major version: https://github.com/nodejs/release#release-schedule */
const maintainedUntil: Readonly<Record<number, string>> = { 20: '2026-04-30', 22: '2027-04-30', 24: '2028-04-30', 26: '2029-04-30' }
/** Major versions that Debian maintains by itself in a release, and until when: https://wiki.debian.org/DebianReleases */
const maintainedByDebian: Readonly<Record<number, { release: string; until: string }>> = {
  20: { release: 'Debian 13', until: '2028-08-09' },
}

type Running = { version?: string; today?: string }

/** Checks whether this Node is new enough and still maintained. */
export async function node(
  { files, is_this }: Pick<Patient, 'files' | 'is_this'>,
  { version = process.versions.node, today = new Date().toISOString().slice(0, 10) }: Running = {},
): Promise<Finding> {
  const { ok, warn, fail } = finder('node')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    return fail(
      `v${version} is too old: it needs ${oldest.join('.')} or newer`,
      'sudo apt install nodejs, on Debian 13 or Raspberry Pi OS trixie',
    )
  const its = `v${version} (needs ${oldest.join('.')} or newer)`
  // The Node of another computer is not the one that runs this.
  if (!is_this) return ok(its)
  const debian = (await isOfDebian(files, version)) ? maintainedByDebian[major] : undefined
  if (debian && today <= debian.until) return ok(`${its}; ${debian.release} maintains its package nodejs until ${debian.until}`)
  const until = maintainedUntil[major]
  if (until === undefined) return ok(`${its}; this program does not know until when version ${major} is maintained`)
  if (today <= until) return ok(`${its}; the Node.js project maintains version ${major} until ${until}`)
  const later = Object.entries(maintainedUntil).filter(([, end]) => today <= end)
  return warn(
    `${its}; nobody is known to maintain it: the Node.js project maintained version ${major} until ${until}`,
    `install ${later.map(([other, end]) => `Node ${other} (maintained until ${end})`).join(' or ')}${later.length ? ', ' : ''}or the nodejs of Debian 13`,
  )
}

/** Whether the package `nodejs` of this version is Debian's own: `+dfsg` marks sources that Debian has changed. */
async function isOfDebian(files: HostFiles, version: string): Promise<boolean> {
  const packages = (await files.text('/var/lib/dpkg/status')) ?? ''
  const nodejs = packages.split('\n\n').find((about) => about.startsWith('Package: nodejs\n'))
  return nodejs?.includes(`\nVersion: ${version}+dfsg`) ?? false
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
  // timedatectl asks the kernel, and so knows of chrony and others too. It is too slow for the service itself.
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

// The service: its state in systemd, its answer, its health, and its configuration.

import { type Config, readConfig } from '../../config.ts'
import { LabError, messageOf } from '../../errors.ts'
import { HostFiles } from '../../kit/host_files.ts'
import { type Finding, finder } from './finding.ts'
import type { Patient, ServiceView } from './patient.ts'
import { properties } from './programs.ts'

type Health = { status: string; version: string; uptime_s: number; reasons: string[] }

/** The remedy for each reason of `/health`. */
const fixes: Record<string, string> = {
  storage: 'the disk cannot be written: see storage below, and the log of the service',
  disk: 'free some space, or delete old executions: benchd runs list',
  clock: 'see clock below',
  under_voltage: 'see power below',
  temperature: 'see temperature below',
  stop_input: 'the stop contact cannot be read: see gpio below, and its wiring',
  backup: 'see why in the log of the service, then: benchd backup',
  safe_mode: 'look at the bench and the log, then acknowledge its incident: benchd incidents list',
}

/** Whether the folder is that of the unit's service. */
export async function isUnitsFolder({ files, data_dir }: Pick<Patient, 'files' | 'data_dir'>): Promise<boolean> {
  return data_dir === files.at('/var/lib/benchd') && (await files.has('/run/systemd/system'))
}

export async function service(patient: Patient): Promise<Finding[]> {
  const { service: seen, is_this } = patient
  const { ok, warn, fail, skip } = finder('service')
  const managed = is_this && (await isUnitsFolder(patient)) ? await systemdSays() : undefined
  const log = managed ? 'journalctl -u benchd -e' : 'see its log'
  if (seen.is === 'closed') return [warn(`it is there, but: ${seen.why}`, 'sudo benchd doctor, or be a member of the group benchd')]
  if (seen.is === 'absent') {
    if (managed?.ActiveState === 'failed')
      return [fail(`systemd says failed (${managed.Result})`, `${log}; then: sudo systemctl restart benchd`)]
    if (managed?.ActiveState === 'active') return [fail('systemd says active, but nobody answers on its socket', log)]
    if (managed?.LoadState === 'loaded') return [warn(`it does not run (${managed.ActiveState})`, 'sudo systemctl start benchd')]
    return [skip('none runs on the data folder', 'benchd serve')]
  }
  const { status, version, uptime_s, reasons } = await seen.get<Health>('/health')
  const by = managed?.ActiveState === 'active' ? `, systemd says active, ${managed.NRestarts} restarts` : ''
  const words = `answers, version ${version}, up ${span(uptime_s)}${by}`
  if (status === 'ok') return [ok(words)]
  return [ok(words), ...reasons.map((reason) => warn(`it says ${status}: ${reason}`, fixes[reason] ?? log))]
}

async function systemdSays(): Promise<Record<string, string> | undefined> {
  return properties('systemctl', ['show', 'benchd', '--property=LoadState,ActiveState,SubState,Result,NRestarts'])
}

function span(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`
}

/** Reads the configuration and finds its mistakes. A service without one, such as the demo, is fine. */
export async function configuration(
  path: string | undefined,
  seen: ServiceView,
): Promise<{ findings: Finding[]; config: Config | undefined }> {
  const { ok, fail, skip } = finder('config')
  if (path === undefined && seen.is === 'answering')
    return { findings: [skip('there is none here; the service that runs has its own')], config: undefined }
  if (path === undefined) {
    const fix = 'benchd init writes one; or name one with --config'
    return { findings: [fail('there is none', fix)], config: undefined }
  }
  try {
    const config = await readConfig(path)
    const names = config.devices.map((device) => `${device.device_id} (${device.driver}${isSimulated(device) ? ', simulated' : ''})`)
    const found = names.length ? `${names.length} devices: ${names.join(', ')}` : 'no devices yet (benchd devices add)'
    return { findings: [ok(`${path} is valid; ${found}`)], config }
  } catch (error) {
    if (!(error instanceof LabError)) throw error
    const sentence = messageOf(error)
    const fix = `mend it, then: benchd config check ${path}; older copies, where there are any, are beside it`
    return { findings: [fail(sentence, fix)], config: undefined }
  }
}

function isSimulated(device: Config['devices'][number]): boolean {
  return device.kind === 'driven' && device.transport.kind === 'simulated'
}

type Changes = { config_file: string | null; at_once: string[]; needs_restart: string[] }

/** Compares the file with the configuration of the running service, which it read at its start or last reload. */
export async function isTakenUp({ service: seen, config, config_path }: Patient): Promise<Finding[]> {
  if (seen.is !== 'answering' || !config || config_path === undefined) return []
  const { warn, skip } = finder('config')
  const changes = await seen.get<Changes>('/api/system/changes').catch((error) => messageOf(error))
  if (typeof changes === 'string')
    return [warn(`the service that runs cannot take it over: ${changes}`, 'mend it, then: benchd config reload')]
  const { config_file, at_once, needs_restart } = changes
  if (config_file === null) return [skip('the service that runs has its configuration from no file')]
  const files = new HostFiles()
  if ((await files.behind(config_file)) !== (await files.behind(config_path)))
    return [warn(`the service that runs has another one: ${config_file}`, `look at that: benchd doctor --config ${config_file}`)]
  const words = 'differs from what the service runs with'
  return [
    ...(at_once.length ? [warn(`${words}: ${at_once.join(', ')}`, 'benchd config reload')] : []),
    ...(needs_restart.length ? [warn(`${words}: ${needs_restart.join(', ')}`, 'when nothing runs: sudo systemctl restart benchd')] : []),
  ]
}

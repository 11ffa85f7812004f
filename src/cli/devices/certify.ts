// `benchd devices certify`: leads a person through a trial of an instrument, and writes a signed file of it.

import { resolve } from 'node:path'
import type { DeviceConfig } from '../../config/devices.ts'
import type { Trial, TrialFile } from '../../conformance/trial_file.ts'
import type { DeviceInfo } from '../../devices/records.ts'
import { exists } from '../../kit/folder.ts'
import { packageVersion } from '../../kit/package_version.ts'
import { ask, type Service, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { CliError, exitCodes } from '../exit.ts'
import { configPath } from '../places.ts'
import { print } from '../table.ts'
import { canAsk, note } from '../terminal.ts'
import { pathOf } from './perform.ts'
import { Person } from './trial_person.ts'
import { TrialRun } from './trial_run.ts'
import { trialSteps } from './trial_steps.ts'

type Driven = Extract<DeviceConfig, { kind: 'driven' }>

export const certify = command({
  name: 'devices certify',
  summary: 'Check an instrument step by step with a person beside it, and write a signed file of the trial. It moves',
  operands: ['ID'],
  options: {
    out: { type: 'string', value: 'FILE', help: 'File of the trial; default: trial-ID-TIME.json in the present folder' },
    config: { type: 'string', value: 'FILE', help: 'Configuration of the service; default /etc/benchd/config.json' },
    ...serviceOptions,
  },
  no_json: 'it asks a person; the file that it writes is JSON',
  example: 'benchd devices certify shaker-1',
  async run({ options, operands: [device_id = ''] }) {
    if (!canAsk()) throw new CliError('usage', 'a trial asks a person: call it at a terminal, in front of the instrument')
    const service = serviceOf(options)
    const device = await drivenDevice(device_id, options.config)
    const out = resolve(options.out ?? `trial-${device_id}-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.json`)
    if (exists(out)) throw new CliError('busy', `${out} is there already and stays as it is; name another file by --out`)
    const info = await ask<DeviceInfo>(service, 'GET', pathOf(device_id))
    const isPseudo = await isPseudoTerminal(device)
    const person = new Person()
    const run = new TrialRun({ service, device_id, person, settings: device.settings })
    const began = new Date().toISOString()
    let ended_at: string | null = null
    try {
      ended_at = await trialSteps(run, device.driven_by as never)
    } finally {
      // A trial that ends early may have left the device at work.
      await run.halt()
      person.close()
    }
    const last = await ask<DeviceInfo>(service, 'GET', pathOf(device_id)).catch(() => info)
    const { model = null, serial_number = null, firmware_version = null } = last.identity ?? info.identity ?? {}
    const trial: Trial = {
      ...{ format: 1, kind: 'trial', simulated: info.simulated || isPseudo },
      device: {
        type: info.type,
        driver: device.driver,
        driver_source: device.outside?.source ?? 'shipped',
        settings: device.settings as object as Record<string, unknown>,
      },
      instrument: { model, serial_number, firmware_version },
      ...{ benchd: packageVersion(), began, ended: new Date().toISOString(), ended_at, steps: run.steps, wire: run.wire },
    }
    await written(service, out, trial)
    return told(out, trial)
  },
})

/** Whether the port is a pseudo-terminal, as that of a simulator is. */
async function isPseudoTerminal({ transport }: Driven): Promise<boolean> {
  if (transport.kind !== 'serial') return false
  const { portBehind } = await import('../../../drivers/transports/ports.ts')
  return (await portBehind(transport.path).catch(() => '')).startsWith('/dev/pts/')
}

/** Returns the device as the configuration has it. */
async function drivenDevice(device_id: string, config: string | undefined): Promise<Driven> {
  const { readConfig } = await import('../../config.ts')
  const { isOnPins } = await import('../../../drivers/driver.ts')
  const path = configPath(config)
  const { devices } = await readConfig(path)
  const device = devices.find((one) => one.device_id === device_id)
  if (!device)
    throw new CliError(
      'not_found',
      `${path} has no device ${device_id}; it has ${devices.map((one) => one.device_id).join(', ') || 'none'}`,
    )
  if (device.kind === 'unloaded') throw new CliError('failed', `the driver ${device.driver} of ${device_id} cannot be used: ${device.why}`)
  if (device.kind !== 'driven' || isOnPins(device.driven_by))
    throw new CliError('usage', `${device_id} has no driver of an instrument on a line, so there is nothing to try`)
  return device
}

async function written(service: Service, out: string, trial: Trial): Promise<void> {
  const { digestOf } = await import('../../conformance/trial_file.ts')
  const { createSynced } = await import('../../kit/durable.ts')
  const signature = await ask<TrialFile['signature']>(service, 'POST', '/api/system/trials/signature', { sha256: digestOf(trial) })
  await createSynced(out, `${JSON.stringify({ trial, signature }, null, 1)}\n`, { mode: 0o644, isNew: true })
}

function told(out: string, { steps, ended_at, simulated }: Trial): number {
  const count = (result: string) => steps.filter((step) => step.result === result).length
  print(`${count('pass')} steps passed, ${count('fail')} failed, ${count('deviation')} with a deviation, ${count('skipped')} skipped`)
  if (ended_at !== null) note(`the trial ended at: ${ended_at}`)
  if (simulated) note('the instrument is simulated, so this trial does not count')
  print(`wrote ${out}`)
  if (ended_at !== null) return exitCodes.interrupted[0]
  return count('fail') > 0 ? exitCodes.failed[0] : exitCodes.ok[0]
}

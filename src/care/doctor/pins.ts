// GPIO and I2C: the back end for pins, and the existence of the configured buses.

import { isOnPins } from '../../../drivers/driver.ts'
import type { BoardPlan, PinPlan } from '../../../drivers/transports/wiring.ts'
import { type Finding, finder } from './finding.ts'
import { groupName, mayUse, type Patient, realDevices, rightsInWords } from './patient.ts'

export async function gpio(patient: Patient): Promise<Finding> {
  const { ok, fail, skip } = finder('gpio')
  const probes = await patient.pins()
  const users = [
    ...(patient.config?.stop_input ? ['stop_input'] : []),
    ...plans(patient)
      .filter(hasPins)
      .map(({ device_id }) => device_id),
  ]
  const why = probes.flatMap((probed) => ('reason' in probed ? [`${probed.name}: ${probed.reason}`] : []))
  const used = probes.find((probed) => 'backend' in probed)
  if (used)
    return ok(`${used.name === 'onoff' ? 'onoff, by way of sysfs' : 'the tools of gpiod'}${why.length ? ` (not ${why.join('; ')})` : ''}`)
  if (!users.length) return skip(`no pins can be had, and no device needs any (${why.join('; ')})`)
  const isMissing = why.some((reason) => reason.includes('not installed'))
  const fix = isMissing ? 'sudo apt install gpiod' : 'add the user of the service to the group gpio, and start it again'
  return fail(`${users.join(', ')} cannot have pins; ${why.join('; ')}`, fix)
}

export async function i2c(patient: Patient): Promise<Finding[]> {
  const { skip } = finder('i2c')
  const buses = new Map<number, string[]>()
  for (const { device_id, plan } of plans(patient)) {
    for (const bus of busesOf(plan)) buses.set(bus, [...(buses.get(bus) ?? []), device_id])
  }
  if (!buses.size) return [skip('no device of the configuration is on an I2C bus')]
  return Promise.all([...buses].map(([bus, users]) => busIs(patient, bus, users)))
}

async function busIs({ files, as }: Patient, bus: number, users: readonly string[]): Promise<Finding> {
  const { ok, fail } = finder('i2c')
  const path = `/dev/i2c-${bus}`
  const status = await files.status(path)
  if (!status) {
    const isLoaded = await files.has('/sys/module/i2c_dev')
    const what = isLoaded ? 'the bus is off' : 'the module i2c-dev is not loaded'
    const fix = isLoaded
      ? 'switch it on: dtparam=i2c_arm=on in /boot/firmware/config.txt (or raspi-config), then start the computer anew'
      : 'sudo modprobe i2c-dev; for ever: echo i2c-dev | sudo tee /etc/modules-load.d/i2c.conf'
    return fail(`there is no ${path}, which ${users.join(', ')} is on: ${what}`, fix)
  }
  if (mayUse(status, as)) return ok(`${path} is there, for ${users.join(', ')}`)
  const group = await groupName(files, status.gid)
  return fail(
    `the user ${as.name} may not use ${path} (${await rightsInWords(files, status)})`,
    `sudo adduser ${as.name} ${group}, then start the service again`,
  )
}

function plans(patient: Pick<Patient, 'config'>): { device_id: string; plan: BoardPlan }[] {
  return realDevices(patient).flatMap(({ device_id, driven_by, settings }) =>
    isOnPins(driven_by) ? [{ device_id, plan: driven_by.plan(settings) }] : [],
  )
}

function hasPins({ plan }: { plan: BoardPlan }): boolean {
  return Object.values(plan.pins).some((pin) => !('expander' in pin))
}

function busesOf({ pins, i2c: parts }: BoardPlan): Set<number> {
  const expanders = Object.values<PinPlan>(pins).flatMap((pin) => ('expander' in pin ? [pin.expander.bus] : []))
  return new Set([...expanders, ...Object.values(parts).map(({ bus }) => bus)])
}

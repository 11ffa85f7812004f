// The pins and buses of this computer. The back end for pins is chosen when the first one is opened.

import { LabError } from '../../src/errors.ts'
import { Expanders } from '../parts/expanders.ts'
import type { Hardware } from './board.ts'
import type { I2cBus } from './i2c.ts'
import { i2cBus } from './i2c_bus.ts'
import type { PinBackend, Probe } from './pin.ts'
import { sysfs } from './pin_chips.ts'

/**
 * Probes the back ends for pins. The first that works is used; the others have a reason. sysfs comes first, because its pins keep their level when the
 * process ends. `elsewhere` describes another computer to probe: the root of its files, and why its onoff does not load,
 * if that is so.
 */
export async function probePins(elsewhere?: { root: string; trouble: string | undefined }): Promise<Probe[]> {
  const [{ probeOnoff }, { probeGpiod }] = await Promise.all([import('./pin_onoff.ts'), import('./pin_gpiod.ts')])
  if (!elsewhere) return Promise.all([probeOnoff(), probeGpiod()])
  const { root, trouble } = elsewhere
  return Promise.all([probeOnoff({ folder: `${root}${sysfs}`, trouble }), probeGpiod(`${root}/usr/bin`)])
}

/** Returns the hardware of this computer. The process has one such object, since all devices on a bus share that bus. */
export function thisComputer(probe: () => Promise<Probe[]> = () => probePins()): Hardware {
  const buses = new Map<number, I2cBus>()
  const bus = (number: number) => {
    const known = buses.get(number) ?? i2cBus(number)
    buses.set(number, known)
    return known
  }
  let backend: PinBackend | undefined
  return {
    async openPin(place, use, lost) {
      backend ??= chosen(await probe())
      return backend.open(place, use, lost)
    },
    bus,
    expanders: new Expanders(bus),
  }
}

/** Returns the back end to use. Throws `disconnected` with the reason of each. */
function chosen(probes: Probe[]): PinBackend {
  for (const probed of probes) if ('backend' in probed) return probed.backend
  const reasons = probes.map((probed) => `${probed.name}: ${'reason' in probed ? probed.reason : ''}`)
  throw new LabError('disconnected', `there are no GPIO pins here; ${reasons.join('; ')}; GET /api/system/doctor says what to do`)
}

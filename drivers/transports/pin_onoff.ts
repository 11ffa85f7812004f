// Pins by `onoff`: the files in /sys/class/gpio. The native, optional package is loaded when pins are first needed.
//
// An output stays driven at its last level when the process ends, in whatever way.

import { access, constants, writeFile } from 'node:fs/promises'
import type { Gpio } from 'onoff'
import { LabError, messageOf } from '../../src/errors.ts'
import { sleep, systemClock } from '../../src/kit/clock.ts'
import { whyNotLoaded } from '../../src/kit/native_module.ts'
import { type GpioPlace, type Pin, type PinBackend, type PinUse, type Probe, placeInWords } from './pin.ts'
import { lineOf, sysfs, sysfsChips } from './pin_chips.ts'

type GpioClass = typeof Gpio

/** The time for udev to grant access to an exported pin. */
const permission_ms = 1000

/** Another computer to probe: its `/sys/class/gpio`, and why its onoff does not load, if it does not. */
type Elsewhere = { folder: string; trouble: string | undefined }

/** Probes this back end. */
export async function probeOnoff(elsewhere?: Elsewhere): Promise<Probe> {
  const name = 'onoff'
  const loaded = elsewhere ? (elsewhere.trouble ?? pinsElsewhere) : await loadedPins()
  if (typeof loaded === 'string') return { name, reason: `the package onoff does not load: ${loaded}` }
  const folder = elsewhere?.folder ?? sysfs
  try {
    await access(`${folder}/export`, constants.W_OK)
  } catch (error) {
    return { name, reason: whyNot(error as NodeJS.ErrnoException) }
  }
  if ((await sysfsChips(folder)).length === 0) return { name, reason: `${sysfs} has no chips` }
  return { name, backend: loaded }
}

/** Loads the package. Resolves with a reason if that fails. */
async function loadedPins(): Promise<PinBackend | string> {
  try {
    return onoffPins((await import('onoff')).Gpio)
  } catch (error) {
    return whyNotLoaded(error)
  }
}

const pinsElsewhere: PinBackend = {
  name: 'onoff',
  async open() {
    throw new LabError('disconnected', 'pins of another computer cannot be opened from here')
  },
}

function whyNot({ code }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return `there is no ${sysfs} in this kernel`
  return `this user may not write ${sysfs}/export (${code}); add it to the group gpio, and give that group the files by a udev rule`
}

function onoffPins(Gpio: GpioClass): PinBackend {
  /** Outputs stay exported after `close`, because an unexported pin would float. */
  const kept = new Map<number, Gpio>()
  return {
    name: 'onoff',
    async open(place, use, lost) {
      if (use.pull) throw new LabError('config', noPull(place))
      const { chip, line } = lineOf(place, await sysfsChips())
      const number = chip.base! + line
      forgetIfGone(kept, number)
      await exported(number, place)
      const gpio = opened(() => kept.get(number) ?? made(Gpio, number, use), place, use)
      if (use.mode === 'out') kept.set(number, gpio)
      return onoffPin(gpio, use, lost)
    },
  }
}

/** Drops a kept pin whose chip was replugged, which gives new files under the same names. */
function forgetIfGone(kept: Map<number, Gpio>, number: number): void {
  const gpio = kept.get(number)
  try {
    gpio?.readSync()
  } catch {
    kept.delete(number)
    gpio?.unexport()
  }
}

function noPull(place: GpioPlace): string {
  const where = placeInWords(place)
  const line = 'bcm' in place ? `\`gpio=${place.bcm}=pu\` (or pd)` : 'the device tree'
  return `${where}: sysfs cannot switch pull resistors; put ${line} in /boot/firmware/config.txt or solder one, then take "pull" out`
}

/** Exports a pin. Not done by the package, which would block the event loop with ten thousand attempts. */
async function exported(number: number, place: GpioPlace): Promise<void> {
  // udev grants access to the files one after the other, so all are checked.
  const files = ['direction', 'active_low', 'value'].map((name) => `${sysfs}/gpio${number}/${name}`)
  try {
    await writeFile(`${sysfs}/export`, String(number)).catch((error) => {
      if (error.code !== 'EBUSY') throw error
    })
    const end = systemClock.now() + permission_ms
    for (;;) {
      const failed = await Promise.all(files.map((file) => access(file, constants.R_OK | constants.W_OK))).then(
        () => undefined,
        (error) => error,
      )
      if (!failed) return
      if (systemClock.now() > end) throw failed
      await sleep(systemClock, 10)
    }
  } catch (error) {
    throw new LabError('disconnected', `${placeInWords(place)} cannot be had: ${messageOf(error)}; see that nothing else uses it`, {
      cause: error,
    })
  }
}

function made(Gpio: GpioClass, number: number, use: PinUse): Gpio {
  return new Gpio(number, direction(use), use.mode === 'in' ? 'both' : 'none', { activeLow: use.active_low })
}

/** Sets a pin up and verifies it: for a pin that was already exported the package reports no errors. */
function opened(get: () => Gpio, place: GpioPlace, use: PinUse): Gpio {
  try {
    const gpio = get()
    if (use.mode === 'out') {
      gpio.setActiveLow(use.active_low)
      gpio.setDirection(direction(use))
    }
    if (gpio.direction() === use.mode && gpio.activeLow() === use.active_low) return gpio
    throw new Error('it does not let itself be set')
  } catch (error) {
    throw new LabError('disconnected', `${placeInWords(place)} cannot be opened: ${messageOf(error)}; see that nothing else uses it`, {
      cause: error,
    })
  }
}

/**
 * Returns the direction. `high` and `low` set the level before the pin is driven, regardless of `active_low` (the kernel's `direction_output_raw`),
 * so that a relay that is active low does not click on.
 */
function direction({ mode, active_low, initial = false }: PinUse): 'in' | 'high' | 'low' {
  if (mode === 'in') return 'in'
  return initial !== active_low ? 'high' : 'low'
}

/** Reads the level at an edge without throwing, since an error in the package's callback would end the process. Such an edge is ignored. */
function levelAtEdge(read: () => 0 | 1): 0 | 1 {
  try {
    return read()
  } catch {
    return Number.NaN as 0
  }
}

/** `lost` is called, once, when the edges of an input stop coming. */
export function onoffPin(gpio: Gpio, { mode }: PinUse, lost: (reason: string) => void): Pin {
  let isLost = false
  const set = (active: boolean) => gpio.writeSync(active ? 1 : 0)
  const read = gpio.readSync.bind(gpio)
  if (mode === 'in') gpio.readSync = () => levelAtEdge(read)
  return {
    read: async () => read() === 1,
    write: async (active) => set(active),
    async writeNow(active) {
      set(active)
    },
    onEdge(listen) {
      const call = (error: Error | null | undefined, value: 0 | 1) => {
        if (!error) return listen(value === 1)
        if (!isLost) lost(`its edges are not reported any more: ${error.message}`)
        isLost = true
      }
      gpio.watch(call)
      return () => gpio.unwatch(call)
    },
    async close() {
      if (mode === 'in') gpio.unexport()
      else gpio.unwatchAll()
    },
  }
}

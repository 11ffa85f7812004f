// Pins by `onoff`: the files in /sys/class/gpio. The package is native, optional, and loaded when pins are first looked for.
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

/** How long udev may take to let us at a pin that was exported. */
const permission_ms = 1000

/** Another computer, looked at from here: its `/sys/class/gpio`, and why its onoff does not load if that is so. */
type Elsewhere = { folder: string; trouble: string | undefined }

/** Whether pins can be had this way, and if not, why. */
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

/** Or why not. */
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
  /** Outputs stay exported when they are closed: unexported, a pin would float. */
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

/** A chip that was unplugged and is there again has other files under the same names. */
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

/** Done here and not by the package, which would try ten thousand times in a row and hold everybody up. */
async function exported(number: number, place: GpioPlace): Promise<void> {
  // udev gives them to us one after the other: a pin whose value is ours may not let its direction be set yet.
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

/** Sets a pin that is kept anew, and sees that it is as it was set: of a pin that was exported before the package says nothing. */
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
 * `high` and `low` set the level before the pin is driven, whatever `active_low` says (the kernel's `direction_output_raw`):
 * so a relay that is on at the low level does not click on.
 */
function direction({ mode, active_low, initial = false }: PinUse): 'in' | 'high' | 'low' {
  if (mode === 'in') return 'in'
  return initial !== active_low ? 'high' : 'low'
}

/** The package reads an input at each edge, where nobody can catch an error, which would end the process. An edge without a level calls nobody. */
function levelAtEdge(read: () => 0 | 1): 0 | 1 {
  try {
    return read()
  } catch {
    return Number.NaN as 0
  }
}

/** `lost` is called, once, for an input whose edges do not come any more. */
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

// The GPIO chips of this computer, and the resolution of a configured pin to a chip and a line.

import { readdir, readFile } from 'node:fs/promises'
import { LabError } from '../../src/errors.ts'
import { type GpioPlace, headerChips, placeInWords } from './pin.ts'

/** `base` is the sysfs number of the chip's first line, which differs between kernels. */
export type Chip = { name: string; label: string; lines: number; base?: number }

export const sysfs = '/sys/class/gpio'

/** Lists the chips of sysfs, none without sysfs. Their names contain the base, not the number. */
export async function sysfsChips(folder = sysfs): Promise<Chip[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith('gpiochip'))
  const read = async (name: string, file: string) => (await readFile(`${folder}/${name}/${file}`, 'utf8')).trim()
  const chips = names.sort().map(async (name) => ({
    name,
    label: await read(name, 'label'),
    lines: Number(await read(name, 'ngpio')),
    base: Number(await read(name, 'base')),
  }))
  return Promise.all(chips)
}

/** Finds the chip and the line on it. Throws `disconnected`, naming the chips. */
export function lineOf(place: GpioPlace, chips: readonly Chip[]): { chip: Chip; line: number } {
  const isIt = (chip: Chip) => ('bcm' in place ? headerChips.includes(chip.label) : [chip.label, chip.name].includes(place.chip))
  const [chip, another] = chips.filter(isIt)
  if (another) {
    const them = chips.filter(isIt).map(({ name, label }) => `${name} (${label})`)
    throw new LabError('disconnected', `there is more than one ${placeInWords(place)}: on ${them.join(' and ')}; call the chip by its name`)
  }
  if (!chip) {
    const there = chips.map(({ name, label }) => `${name} (${label})`).join(', ') || 'none'
    const advice = 'bcm' in place ? 'on another computer than a Raspberry Pi say {"chip", "line"}' : 'see the configuration'
    throw new LabError('disconnected', `there is no ${placeInWords(place)}: the GPIO chips here are ${there}; ${advice}`)
  }
  const line = 'bcm' in place ? place.bcm : place.line
  if (line < chip.lines) return { chip, line }
  throw new LabError('disconnected', `there is no ${placeInWords(place)}: ${chip.name} (${chip.label}) has lines 0 to ${chip.lines - 1}`)
}

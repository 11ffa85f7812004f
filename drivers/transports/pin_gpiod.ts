// Pins by the tools of libgpiod, for kernels without sysfs: finds the tools and their generation.

import { LabError, messageOf } from '../../src/errors.ts'
import { Input, Output, run, type Tools, type Words } from './gpiod_line.ts'
import { type Pin, type PinBackend, type PinUse, type Probe, placeInWords } from './pin.ts'
import { type Chip, lineOf } from './pin_chips.ts'

/** The options of the two generations: 1.x in Debian 12, 2.x in Debian 13, where gpioset is built without `--interactive`. */
const generations: Record<number, Words> = {
  1: {
    get: (chip, line, pull) => ['gpioget', ...bias(pull), chip, String(line)],
    set: (chip) => ['gpioset', '--mode=signal', chip],
    monitor: (chip, line, pull) => ['gpiomon', ...bias(pull), '--line-buffered', '--format=%e', chip, String(line)],
    rising: '1',
    // The interface that these tools use queues 16 edges and drops later ones; that of generation 2 drops the oldest.
    trusted_edges: 15,
  },
  2: {
    get: (chip, line, pull) => ['gpioget', '--numeric', ...bias(pull), `--chip=${chip}`, String(line)],
    set: (chip) => ['gpioset', `--chip=${chip}`],
    obey: (chip) => ['gpioset', '--interactive', `--chip=${chip}`],
    monitor: (chip, line, pull) => ['gpiomon', ...bias(pull), '--format=%E', `--chip=${chip}`, String(line)],
    rising: 'rising',
  },
}

function bias(pull: PinUse['pull']): string[] {
  return pull ? [`--bias=pull-${pull}`] : []
}

/** Whether pins can be had this way, and if not, why. `folder` is where the tools are; left out, they are looked for as usual. */
export async function probeGpiod(folder?: string): Promise<Probe> {
  const name = 'gpiod'
  const tool = (words: string[]): [string, string[]] => [folder ? `${folder}/${words[0]}` : words[0]!, words.slice(1)]
  try {
    const { stdout } = await run(...tool(['gpioset', '--version']))
    const generation = Number(/v?(\d+)\.\d/.exec(stdout)?.[1])
    const known = generations[generation]
    if (!known) return { name, reason: `gpioset says ${JSON.stringify(stdout.split('\n')[0])}; versions 1 and 2 are known` }
    const words = known.obey && !(await obeys(tool)) ? { ...known, obey: undefined } : known
    const { stdout: detected } = await run(...tool(['gpiodetect']))
    const chips = chipsIn(detected)
    if (chips.length === 0) return { name, reason: 'gpiodetect finds no chip; see /dev/gpiochip* and who may open them (group gpio)' }
    return { name, backend: { name, open: (place, use, lost) => openLine({ words, tool, chips }, place, use, lost) } }
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return { name, reason: missing ? 'the tools of gpiod are not installed (`sudo apt install gpiod`)' : messageOf(error) }
  }
}

/** Whether gpioset was built to take words while it runs. */
async function obeys(tool: Tools['tool']): Promise<boolean> {
  return (await run(...tool(['gpioset', '--help']))).stdout.includes('--interactive')
}

/** `gpiochip0 [pinctrl-bcm2711] (58 lines)`. Generation 1 lists a chip again for each link to it: Raspberry Pi OS makes one on a Pi 5. */
export function chipsIn(text: string): Chip[] {
  const all = [...text.matchAll(/^(\S+) \[(.*)\] \((\d+) lines?\)/gm)]
  const byName = new Map(all.map(([, name = '', label = '', lines]) => [name, { name, label, lines: Number(lines) }]))
  return [...byName.values()]
}

const openLine = async (tools: Tools, ...[place, use, lost]: Parameters<PinBackend['open']>): Promise<Pin> => {
  const { chip, line } = lineOf(place, tools.chips)
  const at = { tools, chip: chip.name, line, use, lost }
  try {
    return use.mode === 'in' ? await Input.open(at) : await Output.open(at)
  } catch (error) {
    throw new LabError('disconnected', `${placeInWords(place)} cannot be opened: ${messageOf(error)}; see that nothing else uses it`, {
      cause: error,
    })
  }
}

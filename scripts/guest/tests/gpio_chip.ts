// GPIO chips that the kernel simulates, seen from the outside: what pulls at a line, its level, and every level that was ever set.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { tools } from './gpio_tools.ts'
import { record, recorded } from './kernel_trace.ts'

const chips = '/sys/kernel/config/gpio-sim'

export type Level = 0 | 1
/** A level that the kernel drove a line to, at a time of `now_ms`. */
export type Driven = { at_ms: number; level: Level }

export class GpioChip {
  readonly label: string
  readonly #folder: string
  readonly #lines: string
  readonly #base: number

  /** Puts a chip into the kernel, in place of one that was left there. Nothing pulls its lines up. */
  constructor(label: string, lines: number) {
    prepareKernel()
    this.label = label
    this.#folder = `${chips}/${label}`
    if (existsSync(this.#folder)) this.remove()
    mkdirSync(`${this.#folder}/bank0`, { recursive: true })
    writeFileSync(`${this.#folder}/bank0/num_lines`, `${lines}`)
    writeFileSync(`${this.#folder}/bank0/label`, label)
    writeFileSync(`${this.#folder}/live`, '1')
    this.#lines = `/sys/devices/platform/${read(`${this.#folder}/dev_name`)}/${this.name}`
    this.#base = baseOf(label)
  }

  /** `gpiochip0`. */
  get name(): string {
    return read(`${this.#folder}/bank0/chip_name`)
  }

  /** What a switch, or a resistor on a relay board, does. */
  pull(line: number, direction: 'up' | 'down'): void {
    writeFileSync(`${this.#lines}/sim_gpio${line}/pull`, `pull-${direction}`)
  }

  level(line: number): Level {
    return read(`${this.#lines}/sim_gpio${line}/value`) === '1' ? 1 : 0
  }

  /** Every level that a line was driven to since the record began. */
  driven(line: number): Driven[] {
    const number = this.#base + line
    return [...recorded().matchAll(/ (\d+\.\d+): gpio_value: (\d+) set ([01])/g)]
      .filter(([, , of]) => Number(of) === number)
      .map(([, seconds, , level]) => ({ at_ms: Number(seconds) * 1000, level: level === '1' ? 1 : 0 }))
  }

  /** Who uses a line, as the kernel has it: `sysfs`, `gpiomon`, or nobody. */
  user(line: number): string | undefined {
    const [program = '', ...words] = tools.info(this.name)
    return tools.user(line).exec(execFileSync(program, words, { encoding: 'utf8' }))?.[1]
  }

  remove(): void {
    writeFileSync(`${this.#folder}/live`, '0')
    rmdirSync(`${this.#folder}/bank0`)
    rmdirSync(this.#folder)
  }
}

function prepareKernel(): void {
  if (existsSync(chips)) return
  const run = (command: string, ...words: string[]) => execFileSync(command, words, { stdio: 'inherit' })
  run('modprobe', '-a', 'configfs', 'gpio-sim-benchd')
  if (!existsSync(chips)) run('mount', '-t', 'configfs', 'configfs', '/sys/kernel/config')
  record('gpio')
}

/** The number of its first line in sysfs. */
function baseOf(label: string): number {
  const all = '/sys/class/gpio'
  const chip = readdirSync(all).find((name) => name.startsWith('gpiochip') && read(`${all}/${name}/label`) === label)
  if (!chip) throw new Error(`the kernel made no chip ${label}`)
  return Number(read(`${all}/${chip}/base`))
}

function read(path: string): string {
  return readFileSync(path, 'utf8').trim()
}

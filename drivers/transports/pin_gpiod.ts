// Pins by the tools of libgpiod, for kernels without sysfs: gpioget, gpiomon, and a gpioset that is kept running.
//
// Levels go through the tools as they are; what is active is worked out here. An output floats once its gpioset has ended: what
// hangs on it must be off then (a pull resistor sees to it).

import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { LabError, messageOf } from '../../src/errors.ts'
import { sleep, systemClock } from '../../src/kit/clock.ts'
import { Lane } from '../../src/kit/lane.ts'
import { type Pin, type PinBackend, type PinUse, type Probe, placeInWords } from './pin.ts'
import { type Chip, lineOf } from './pin_chips.ts'

const run = promisify(execFile)

/** Levels are 0 and 1, not what is active. */
type Words = {
  get(chip: string, line: number, pull: PinUse['pull']): string[]
  /** Without the `line=level` at the end. Holds the line until it is ended. */
  set(chip: string): string[]
  monitor(chip: string, line: number, pull: PinUse['pull']): string[]
  info(chip: string): string[]
  /** What gpiomon prints for a rising edge. */
  rising: string
}

/** The options of the two generations: 1.x in Debian 12, 2.x in Debian 13. */
const generations: Record<number, Words> = {
  1: {
    get: (chip, line, pull) => ['gpioget', ...(pull ? [`--bias=pull-${pull}`] : []), chip, String(line)],
    set: (chip) => ['gpioset', '--mode=signal', chip],
    monitor: (chip, line, pull) => [
      'gpiomon',
      ...(pull ? [`--bias=pull-${pull}`] : []),
      '--line-buffered',
      '--format=%e',
      chip,
      String(line),
    ],
    info: (chip) => ['gpioinfo', chip],
    rising: '1',
  },
  2: {
    get: (chip, line, pull) => ['gpioget', '--numeric', ...(pull ? [`--bias=pull-${pull}`] : []), `--chip=${chip}`, String(line)],
    set: (chip) => ['gpioset', `--chip=${chip}`],
    monitor: (chip, line, pull) => ['gpiomon', ...(pull ? [`--bias=pull-${pull}`] : []), '--format=%E', `--chip=${chip}`, String(line)],
    info: (chip) => ['gpioinfo', `--chip=${chip}`],
    rising: 'rising',
  },
}

/** How long a line may take to be held: who had it before may keep it for a second. */
const patience_ms = 2000
const look_ms = 10
/** A gpioset that found the line taken has ended; after so long another one is begun. */
const again_ms = 250

/** Whether pins can be had this way, and if not, why. `folder` is where the tools are; left out, they are looked for as usual. */
export async function probeGpiod(folder?: string): Promise<Probe> {
  const name = 'gpiod'
  const tool = (words: string[]): [string, string[]] => [folder ? `${folder}/${words[0]}` : words[0]!, words.slice(1)]
  try {
    const { stdout } = await run(...tool(['gpioset', '--version']))
    const generation = Number(/v?(\d+)\.\d/.exec(stdout)?.[1])
    const words = generations[generation]
    if (!words) return { name, reason: `gpioset says ${JSON.stringify(stdout.split('\n')[0])}; versions 1 and 2 are known` }
    const { stdout: detected } = await run(...tool(['gpiodetect']))
    const chips = chipsIn(detected)
    if (chips.length === 0) return { name, reason: 'gpiodetect finds no chip; see /dev/gpiochip* and who may open them (group gpio)' }
    return { name, backend: { name, open: (place, use, lost) => openLine({ words, tool, chips }, place, use, lost) } }
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return { name, reason: missing ? 'the tools of gpiod are not installed (`sudo apt install gpiod`)' : messageOf(error) }
  }
}

/** `gpiochip0 [pinctrl-bcm2711] (58 lines)`. */
export function chipsIn(text: string): Chip[] {
  return [...text.matchAll(/^(\S+) \[(.*)\] \((\d+) lines?\)/gm)].map(([, name = '', label = '', lines]) => ({
    name,
    label,
    lines: Number(lines),
  }))
}

type Tools = { words: Words; tool(words: string[]): [string, string[]]; chips: readonly Chip[] }

const openLine = async (tools: Tools, ...[place, use, lost]: Parameters<PinBackend['open']>): Promise<Pin> => {
  const { chip, line } = lineOf(place, tools.chips)
  try {
    return use.mode === 'in' ? await Input.open(tools, chip.name, line, use, lost) : await Output.open(tools, chip.name, line, use, lost)
  } catch (error) {
    throw new LabError('disconnected', `${placeInWords(place)} cannot be opened: ${messageOf(error)}; see that nothing else uses it`, {
      cause: error,
    })
  }
}

/**
 * An input that is listened to is held by gpiomon, which does not say where the level began, and nobody else can read it then:
 * `read` takes it back for a moment. So an edge that is lost in between is found by the next read.
 */
class Input implements Pin {
  readonly #tools: Tools
  readonly #chip: string
  readonly #line: number
  readonly #use: PinUse
  readonly #lost: (reason: string) => void
  readonly #lane = new Lane(64)
  readonly #listeners = new Set<(active: boolean) => void>()
  #monitor: ChildProcess | undefined
  #last: boolean | undefined

  static async open(tools: Tools, chip: string, line: number, use: PinUse, lost: (reason: string) => void): Promise<Input> {
    const input = new Input(tools, chip, line, use, lost)
    await input.read()
    return input
  }

  private constructor(tools: Tools, chip: string, line: number, use: PinUse, lost: (reason: string) => void) {
    this.#tools = tools
    this.#chip = chip
    this.#line = line
    this.#use = use
    this.#lost = lost
  }

  read(): Promise<boolean> {
    return this.#lane.run(async () => {
      await this.#endMonitor()
      const { words, tool } = this.#tools
      const { stdout } = await run(...tool(words.get(this.#chip, this.#line, this.#use.pull)))
      this.#note(stdout.trim() === '1')
      if (this.#listeners.size) this.#beginMonitor()
      return this.#last!
    })
  }

  async write(): Promise<void> {
    throw new LabError('internal', `line ${this.#line} of ${this.#chip} is an input`)
  }

  writeNow(): Promise<void> {
    return this.write()
  }

  onEdge(listen: (active: boolean) => void): () => void {
    this.#listeners.add(listen)
    void this.read().catch((error) => this.#lost(messageOf(error)))
    return () => {
      this.#listeners.delete(listen)
      if (this.#listeners.size === 0) void this.#lane.run(() => this.#endMonitor())
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    await this.#lane.run(() => this.#endMonitor())
  }

  #note(level: boolean): void {
    const active = level !== this.#use.active_low
    const changed = this.#last !== undefined && active !== this.#last
    this.#last = active
    if (changed) for (const listen of this.#listeners) listen(active)
  }

  #beginMonitor(): void {
    const { words, tool } = this.#tools
    const child = spawn(...tool(words.monitor(this.#chip, this.#line, this.#use.pull)), { stdio: ['ignore', 'pipe', 'ignore'] })
    this.#monitor = child
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (this.#monitor === child) this.#note(text.trim() === words.rising)
    })
    const ended = () => {
      if (this.#monitor === child) this.#lost(`gpiomon ended for line ${this.#line} of ${this.#chip}`)
    }
    child.on('error', ended).on('exit', ended)
  }

  async #endMonitor(): Promise<void> {
    const child = this.#monitor
    this.#monitor = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill()
    await gone
  }
}

/**
 * Reads levels and keeps a gpioset running for the last one. It is a process of its own group, so that Ctrl-C at a terminal does not
 * take the pin away before the service has halted; and when the service has gone, in whatever way, it sets the safe level for a
 * second before it lets go.
 */
const keeper = `
safe=$1; line=$2; shift 2
end() { [ -n "$p" ] && kill "$p" 2>/dev/null && wait "$p"; p=; }
while read -r level; do
  end
  [ "$level" = end ] && exit
  "$@" "$line=$level" & p=$!
  echo "$level"
done
end 2>/dev/null
"$@" "$line=$safe" & p=$!
sleep 1
end 2>/dev/null
`

class Output implements Pin {
  readonly #tools: Tools
  readonly #chip: string
  readonly #line: number
  readonly #use: PinUse
  readonly #lost: (reason: string) => void
  readonly #keeper: ChildProcessByStdio<Writable, Readable, Readable>
  #said = ''
  #active: boolean
  #sent = 0
  #taken = 0
  #ended = false
  #closing = false

  /** Resolves once the line is driven. */
  static async open(tools: Tools, chip: string, line: number, use: PinUse, lost: (reason: string) => void): Promise<Output> {
    const output = new Output(tools, chip, line, use, lost)
    try {
      await output.#free()
      await output.write(use.initial ?? false)
    } catch (error) {
      await output.close()
      throw error
    }
    return output
  }

  private constructor(tools: Tools, chip: string, line: number, use: PinUse, lost: (reason: string) => void) {
    this.#tools = tools
    this.#chip = chip
    this.#line = line
    this.#use = use
    this.#lost = lost
    this.#active = use.initial ?? false
    const [command, options] = tools.tool(tools.words.set(chip))
    const safe = use.active_low ? '1' : '0'
    this.#keeper = spawn('/bin/sh', ['-c', keeper, 'keeper', safe, String(line), command, ...options], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.#keeper.stdin.on('error', () => undefined)
    createInterface({ input: this.#keeper.stdout }).on('line', () => this.#taken++)
    this.#keeper.stderr.on('data', (text) => {
      this.#said = String(text).trim()
    })
    this.#keeper.on('error', (error) => this.#onEnd(error.message)).on('exit', () => this.#onEnd(this.#said))
  }

  /** What was set, if the line is still held. */
  async read(): Promise<boolean> {
    if (await this.#held()) return this.#active
    throw new LabError('device_failed', `line ${this.#line} of ${this.#chip} is not driven any more: ${this.#said || 'gpioset has ended'}`)
  }

  async write(active: boolean): Promise<void> {
    await this.writeNow(active)
  }

  /** The word is in the pipe when this returns, and the pin follows some milliseconds later. */
  writeNow(active: boolean): Promise<void> {
    const sentence = `line ${this.#line} of ${this.#chip} takes no more words`
    if (this.#ended) throw new LabError('stop_not_sent', `${sentence}: ${this.#said}`)
    this.#active = active
    this.#send()
    return this.#followed()
  }

  #send(): void {
    this.#sent++
    this.#keeper.stdin.write(`${this.#active !== this.#use.active_low ? 1 : 0}\n`)
  }

  onEdge(): () => void {
    throw new LabError('internal', `line ${this.#line} of ${this.#chip} is an output`)
  }

  async close(): Promise<void> {
    this.#closing = true
    if (this.#active && !this.#ended) await this.write(false).catch(() => undefined)
    if (this.#ended) return
    const gone = once(this.#keeper, 'exit')
    this.#keeper.stdin.end('end\n')
    await gone
  }

  #onEnd(said: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#said = said
    if (!this.#closing) this.#lost(`line ${this.#line} of ${this.#chip}: ${said || 'its gpioset has ended'}`)
  }

  /** The gpioset of another program would be taken for ours. That of a service which was killed goes after a second. */
  async #free(): Promise<void> {
    const end = systemClock.now() + patience_ms
    while (await this.#held()) {
      if (systemClock.now() > end) throw new Error('the gpioset of another program has it')
      await sleep(systemClock, 10 * look_ms)
    }
  }

  async #followed(): Promise<void> {
    const end = systemClock.now() + patience_ms
    let again = systemClock.now() + again_ms
    for (let now = systemClock.now(); !this.#ended && now < end; now = systemClock.now()) {
      if (this.#taken >= this.#sent && (await this.#held())) return
      if (now > again) {
        again = now + again_ms
        this.#send()
      }
      await sleep(systemClock, look_ms)
    }
    throw new LabError('device_failed', this.#said || `gpioset did not take line ${this.#line} of ${this.#chip}`)
  }

  /** Whether the kernel says that gpioset has the line. */
  async #held(): Promise<boolean> {
    const { words, tool } = this.#tools
    const { stdout } = await run(...tool(words.info(this.#chip)))
    return new RegExp(`^\\s*line\\s+${this.#line}:.*gpioset`, 'm').test(stdout)
  }
}

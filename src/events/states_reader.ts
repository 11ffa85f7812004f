// Reads the state of runs at a start: the newest file whose copy lies within the log, and its transactions whose events are in
// the log.

import { withoutChecksum } from '../kit/checksum.ts'
import { readOrDamage } from '../kit/damage.ts'
import { namesIn } from '../kit/files.ts'
import { formatOf, isFormatLine, mustKnowFormat } from '../kit/format_line.ts'

/**
 * Versions with a file for each run use format 1 in this folder, and must not take this file for one of theirs. In format 3, a thread was one
 * value. Each format from 2 on is read; `scripts/upgrades` has files of each, and a test that fails where one is missing.
 */
export const format = 4
/** The last format that did not say where labware stands that no run moves: `labware.json` said so, also while runs were open. */
export const lastWithoutBench = 2

export type SavedRun = {
  keys: Map<string, unknown>
  /** Says why the values may not be the last that were written; undefined if they are. */
  damage: string | undefined
}

/** Event numbers of the end of the log. */
export type LogEnd = {
  /** The last event in the log. */
  stored: number
  /** The last event that the log knows, including removed ones. */
  known: number
  /** The last event at the last orderly end, 0 after a crash. */
  ended: number
}

export type SavedStates = {
  runs: ReadonlyMap<string, SavedRun>
  /** The number of the last event that the state knows of. */
  through: number
  /** The name of a damaged file, and its damage. */
  damage: string | undefined
  /** Whether the files hold transactions beyond the end of the log. */
  isLeftOut: boolean
  /** The number of the newest file, read or not. */
  newest: number
  /** The format of the file that was read. */
  format: number
  /** The last event that was on the disk for certain when the state was written. */
  synced: number
}

export const nothingSaved: SavedStates = { runs: new Map(), through: 0, damage: undefined, isLeftOut: false, newest: 0, format, synced: 0 }

type Transaction = {
  copy?: [number, number]
  from: number
  through: number
  synced?: number
  runs: Record<string, { n: number; patch: Record<string, unknown> | null; damage?: string }>
}

export async function readStates(folder: string, { stored, known, ended }: LogEnd): Promise<SavedStates> {
  const names = await statesIn(folder)
  const newest = names.length > 0 ? numberIn(names[0]!) : 0
  let beyond: SavedStates | undefined
  for (const name of names) {
    const { bytes, damage } = await readOrDamage(`${folder}/${name}`)
    const text = bytes?.toString() ?? ''
    mustKnowFormat(text, `${folder}/${name}`, format)
    const lines = linesOf(text)
    const [first] = lines
    const synced = lines.findLast(({ synced }) => synced !== undefined)?.synced ?? 0
    // The state may be ahead of an older log by any number of transactions.
    const isLogLost = Math.max(synced, ended) > known || (stored === 0 && (first?.from ?? 0) > 1)
    const isBeyond = !isLogLost && first !== undefined && first.through! > stored
    const reading = new Reading(lines, isBeyond || isLogLost ? Number.POSITIVE_INFINITY : stored, damage)
    const said = reading.damage === undefined ? undefined : `${name} (${reading.damage})`
    const isLeftOut = beyond !== undefined || reading.isLeftOut
    const read = { runs: reading.runs, through: reading.through, damage: said, isLeftOut, newest, format: formatOf(text), synced }
    if (!isBeyond) return read
    beyond = read
  }
  for (const run of beyond?.runs.values() ?? []) run.damage ??= 'the event log does not reach as far as its state'
  return beyond ?? nothingSaved
}

/** `isBroken`: the checksum is wrong, and the values may be wrong. */
type Line = Partial<Transaction> & { isBroken: boolean }

/** Splits the text into lines, without a last one that a power cut has torn. */
function linesOf(text: string): Line[] {
  const pieces = text.split('\n')
  const whole = pieces.map(transactionIn)
  const end = 1 + whole.findLastIndex((line) => line !== undefined)
  return (isTorn(pieces.slice(end)) ? pieces.slice(0, end) : pieces).flatMap((piece, i): Line[] => {
    if (piece === '' || isFormatLine(piece)) return []
    const line = whole[i]
    return [line ? { ...line, isBroken: false } : { ...parsed(piece), isBroken: true }]
  })
}

function isTorn(rest: readonly string[]): boolean {
  if (rest.some((piece) => piece.includes('\0'))) return true
  const lines = rest.filter((piece) => !isFormatLine(piece))
  // Only the last line end is wrong.
  return lines.length === 1 && !transactionIn(lines[0]!.slice(0, -1))
}

/** Parses a line; undefined if its checksum is wrong. */
function transactionIn(line: string): Transaction | undefined {
  return withoutChecksum(line) === undefined ? undefined : JSON.parse(line)
}

function parsed(piece: string): Partial<Transaction> {
  try {
    const { runs } = JSON.parse(piece)
    return { runs }
  } catch {
    return {}
  }
}

const missing = 'a part of its state is missing'

/** `n` counts the patches of the run that were read. */
type ReadRun = { keys: Map<string, unknown>; n: number; damage: string | undefined; isDoubtful: boolean }

class Reading {
  readonly #runs = new Map<string, ReadRun>()
  through = 0
  damage: string | undefined
  isLeftOut = false

  constructor(lines: readonly Line[], stored: number, damage: string | undefined) {
    this.damage = damage
    const copied = lines.find(({ copy }) => copy)?.copy?.[1] ?? 1
    const isCopied = lines.length >= copied && lines.slice(0, copied).every(({ isBroken }) => !isBroken)
    if (!isCopied) this.damage ??= 'the copy with which it begins is not whole'
    for (const line of lines) {
      this.isLeftOut = line.through !== undefined && line.through > stored
      if (this.isLeftOut) break
      if (line.isBroken) this.#passOver(line)
      else this.#apply(line as Transaction)
    }
    if (!isCopied) for (const run of this.#runs.values()) run.damage ??= missing
  }

  /** Skips a broken line, which may belong to any run until the counts show otherwise. Its possible places of labware are still used. */
  #passOver({ runs = {} }: Line): void {
    this.damage ??= 'a line is not as it was written'
    for (const run of this.#runs.values()) run.isDoubtful = true
    for (const [id, { patch }] of Object.entries(runs)) {
      const run = this.#runOf(id)
      run.damage ??= missing
      take(run, patch)
    }
  }

  get runs(): ReadonlyMap<string, SavedRun> {
    const doubt = (isDoubtful: boolean) => (isDoubtful ? 'its state is followed by a line that is damaged' : undefined)
    return new Map([...this.#runs].map(([id, { keys, damage, isDoubtful }]) => [id, { keys, damage: damage ?? doubt(isDoubtful) }]))
  }

  #apply({ copy, through, runs }: Transaction): void {
    this.through = through
    for (const [id, { n, patch, damage }] of Object.entries(runs)) {
      const run = this.#runOf(id)
      run.damage ??= damage
      if (copy || n === run.n + 1) run.isDoubtful = false
      else {
        run.damage ??= missing
        this.damage ??= 'a line is missing'
      }
      run.n = n
      take(run, patch)
      if (patch === null) this.#runs.delete(id)
    }
  }

  #runOf(id: string): ReadRun {
    const run = this.#runs.get(id) ?? { keys: new Map(), n: 0, damage: undefined, isDoubtful: false }
    this.#runs.set(id, run)
    return run
  }
}

function take({ keys }: ReadRun, patch: Record<string, unknown> | null): void {
  for (const [key, value] of Object.entries(patch ?? {})) {
    if (value === null) keys.delete(key)
    else keys.set(key, value)
  }
}

export function nameOf(number: number): string {
  return `state-${String(number).padStart(6, '0')}.jsonl`
}

/** Lists the names of the files of states, the newest first. */
export async function statesIn(folder: string): Promise<string[]> {
  const names = (await namesIn(folder)).filter((name) => /^state-\d{6,}\.jsonl$/.test(name))
  return names.sort((one, other) => numberIn(other) - numberIn(one))
}

function numberIn(name: string): number {
  return Number(/\d+/.exec(name)![0])
}

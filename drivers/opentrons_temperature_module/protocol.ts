// The answers of an Opentrons Temperature Module, which has plain firmware in GEN1 and GEN2.

import { encodeCrLf, nextAnswer, type ReportedErrors, wordIn } from '../opentrons_lines.ts'
import type { Dialect } from '../opentrons_talk.ts'
import { errorTable, sentences } from './errors.ts'

/** Matches the identity of a Temperature Module, and of no other Opentrons module. */
export const signature = /^serial:\S+ model:temp_deck_v\S* version:/m

/** The first revision of GEN2. */
const gen2 = 20

/** The forms of the answers. Commands are answered by `ok` alone. */
const forms: Readonly<Record<string, RegExp>> = {
  M105: /^T:(none|-?\d+(\.\d+)?) C:-?\d+(\.\d+)? ok$/,
  M115: /^serial:\S* model:temp_deck_v\S* version:\S* ok$/,
}

export const dialect: Dialect = {
  framer: nextAnswer,
  // The host software of the maker ends a line twice.
  encode: (code) => encodeCrLf(`${code}\r\n`),
  answers: (frame, code) => forms[wordIn(code)]?.test(frame) ?? frame === 'ok',
  errorsIn,
  isRemark: (frame) => frame.startsWith('Target temperature too '),
  errors: errorTable,
  refusals: new Set(),
  badValues: new Set(),
}

function errorsIn(frame: string): ReportedErrors | undefined {
  const numbers = Object.keys(sentences)
    .map(Number)
    .filter((number) => frame.startsWith(sentences[number]!))
  return numbers.length ? { numbers, isUnasked: true } : undefined
}

/** Returns the name of a model, with its generation: `temp_deck_v20` is GEN2. */
export function modelName(model: string): string {
  const [, revision] = /^temp_deck_v(\d+)/.exec(model) ?? []
  if (revision === undefined) return `Temperature Module ${model}`
  return `Temperature Module ${Number(revision) >= gen2 ? 'GEN2' : 'GEN1'} (${model})`
}

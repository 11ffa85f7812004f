// The meaning of the columns of a sheet of samples: the group, the barcode or the place of the labware of a thread, or a variable.

import { didYouMeanOrAmong } from '../kit/did_you_mean.ts'
import { typesOfVariables } from './plans/declared_variables.ts'
import type { Workflow } from './plans/plan.ts'
import type { Variable, VariableType } from './plans/variable_schema.ts'
import { headerRow, type Sheet, type SheetColumn, type SheetMistakes } from './sample_sheet.ts'

export type SampleColumn = SheetColumn &
  (
    | { takes: 'group' }
    | { takes: 'barcode'; thread: string }
    | { takes: 'at'; thread: string }
    | { takes: 'variable'; variable: string; type: VariableType | undefined; declared: Variable }
    | { takes: 'nothing' }
  )

/** Returns the columns with a known meaning. Reports the others. */
export function columnsOf(workflow: Workflow, sheet: Sheet, mistakes: SheetMistakes): SampleColumn[] {
  const meanings = meaningsIn(workflow)
  return sheet.columns.flatMap((column): SampleColumn[] => {
    if (isIndex(column, sheet)) return [{ ...column, takes: 'nothing' }]
    if (column.header === '') {
      mistakes.add('there are values in this column, and it has no header; give it one, or empty it', headerRow, column)
      return []
    }
    const [name, unit] = unitIn(column.header)
    const found = meanings.get(column.header) ?? meanings.get(name) ?? alike(name, meanings)
    if (found === undefined) mistakes.add(unknownWords(name, workflow, meanings), headerRow, column)
    else if (found.length > 1)
      mistakes.add(`it may be ${found.map(({ full }) => full).join(' or ')}; write one of these as the header`, headerRow, column)
    else {
      const [{ meaning }] = found as [Named]
      const declared = meaning.takes === 'variable' ? meaning.declared.unit : undefined
      if (unit !== undefined && column.header !== name && declared !== undefined && unit !== declared)
        mistakes.add(
          `the column is in ${unit}, and the variable ${name} is in ${declared}; give its values in ${declared}`,
          headerRow,
          column,
        )
      return [{ ...column, ...meaning }]
    }
    return []
  })
}

/** A meaning, and the header that stands for it alone. */
type Named = { full: string; meaning: Meaning }
type Meaning = SampleColumn extends infer Column ? (Column extends SampleColumn ? Omit<Column, keyof SheetColumn> : never) : never

/** Returns the meanings of all headers that a workflow knows. */
function meaningsIn(workflow: Workflow): ReadonlyMap<string, Named[]> {
  const { document, threads } = workflow
  const types = typesOfVariables(workflow)
  const all = new Map<string, Named[]>()
  const add = (header: string, full: string, meaning: Meaning) => all.set(header, [...(all.get(header) ?? []), { full, meaning }])
  for (const header of ['group', 'group_id']) add(header, 'group_id', { takes: 'group' })
  const [only, ...others] = document.start
  if (others.length === 0) add('barcode', `${only}.barcode`, { takes: 'barcode', thread: only! })
  for (const thread of threads.keys()) {
    add(`${thread}.barcode`, `${thread}.barcode`, { takes: 'barcode', thread })
    add(`${thread}.at`, `${thread}.at`, { takes: 'at', thread })
  }
  for (const [variable, declared] of Object.entries(document.variables)) {
    const full = `variables.${variable}`
    const meaning: Meaning = { takes: 'variable', variable, type: types.get(variable), declared }
    add(variable, full, meaning)
    add(full, full, meaning)
  }
  return all
}

/** Finds a header in another case, if it is the only such one. */
function alike(name: string, meanings: ReadonlyMap<string, Named[]>): Named[] | undefined {
  const found = [...meanings].filter(([header]) => header.toLowerCase() === name.toLowerCase())
  return found.length === 0 ? undefined : [...new Map(found.flatMap(([, named]) => named).map((one) => [one.full, one])).values()]
}

/** Splits `speed [rpm]` or `speed (rpm)` into the name and the unit. */
function unitIn(header: string): [name: string, unit: string | undefined] {
  const [, name, square, round] = /^(.*\S)\s*(?:\[([^\]]+)\]|\(([^)]+)\))$/.exec(header) ?? []
  return name === undefined ? [header, undefined] : [name, (square ?? round)?.trim()]
}

function unknownWords(header: string, { name, document, threads }: Workflow, meanings: ReadonlyMap<string, Named[]>): string {
  if (header.toLowerCase() === 'barcode') {
    const columns = document.start.map((thread) => `${thread}.barcode`)
    return `workflow ${name} begins with several labware; write ${columns.join(' or ')}`
  }
  const [, of] = /^(.+)\.(?:barcode|at)$/i.exec(header) ?? []
  if (of !== undefined) return `workflow ${name} has no thread ${of}${didYouMeanOrAmong(of, [...threads.keys()])}`
  const known = [...meanings.keys()].filter((one) => !one.startsWith('variables.') && one !== 'group_id')
  return `workflow ${name} has no variable ${header}${didYouMeanOrAmong(header, known)}`
}

/** Whether it is the index that pandas and R write before the first column: rows counted from 0 or 1, without a header. */
function isIndex({ header, index }: SheetColumn, { rows }: Sheet): boolean {
  if (index !== 0 || !['', 'Unnamed: 0'].includes(header) || rows.length === 0) return false
  const first = Number(rows[0]?.cells[0])
  return (first === 0 || first === 1) && rows.every(({ cells }, i) => String(cells[0]) === String(first + i))
}

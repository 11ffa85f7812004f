// Samples of a submission as a sheet: a row is a group, with the barcodes and places of its labware, and its variables. All mistakes are told at once.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { csvHead, csvLine } from '../kit/csv.ts'
import { didYouMeanOrAmong } from '../kit/did_you_mean.ts'
import { Barcode, Id } from '../kit/name.ts'
import { actionsForAllGroups, checkParams, type DoPlan, doActions, misfitOfGiven } from './plans/check_variables.ts'
import { variablesIn } from './plans/params.ts'
import type { Workflow } from './plans/plan.ts'
import { columnsOf, type SampleColumn } from './sample_columns.ts'
import { headerRow, readSheet, type Sheet, SheetMistakes, type SheetRow } from './sample_sheet.ts'
import { type Decimals, decimalsIn, valueOfCell } from './sample_values.ts'
import {
  type Acquisition,
  type Group,
  hashOfSamples,
  type Samples,
  type SubmissionBody,
  type SubmissionRequest,
} from './state/submission_request.ts'

type Given = Readonly<Record<string, unknown>>
type VariableColumn = Extract<SampleColumn, { takes: 'variable' }>
type Row = { row: SheetRow; group: Group & { variables: Record<string, unknown> }; isRight: boolean }

/** A checked sheet: its groups, the rows that they come from, and all mistakes. */
export type CheckedSamples = { sheet: Sheet; columns: readonly SampleColumn[]; groups: Group[]; mistakes: SheetMistakes }

/** Returns the request with the groups of its samples, as a copy, because the caller may change the object. Throws `invalid` with all mistakes of the sheet. */
export function withSamples(workflow: Workflow, { samples, ...asked }: SubmissionBody): SubmissionRequest {
  const request = structuredClone(asked)
  if (samples === undefined) return request
  if (request.groups.length > 0) throw new LabError('invalid', 'samples: each row is a group; give either samples or groups')
  const { groups, mistakes } = checkSamples(workflow, samples, request.variables, request.batch_mode === 'JOIN_EXISTING')
  if (!mistakes.isEmpty) throw mistakesError(mistakes)
  return { ...request, groups, samples_sha256: hashOfSamples(samples) }
}

function mistakesError({ list, leftOut }: SheetMistakes): LabError {
  const count = list.length + leftOut
  let detail = count === 1 ? 'samples: ' : `samples: ${count} mistakes: `
  for (const [i, { message }] of list.entries()) {
    const more = count - i - 1
    if (i > 0 && detail.length + message.length > 260) {
      detail += `; and ${more + 1} more`
      break
    }
    detail += `${i > 0 ? '; ' : ''}${message}`
  }
  return new LabError('invalid', detail, { mistakes: list })
}

/**
 * Checks a sheet. `given` are the variables of the submission, which stand for empty cells. `mayInherit`: values that are missing may come from the run
 * that the submission joins, so they are checked with that.
 */
export function checkSamples(workflow: Workflow, samples: Samples, given: Given, mayInherit = false): CheckedSamples {
  const mistakes = new SheetMistakes()
  const sheet = readSheet(samples, mistakes)
  const columns = columnsOf(workflow, sheet, mistakes)
  const check = new SampleCheck({ workflow, columns, given, mistakes })
  const decimals = sheet.hasDecimalComma ? decimalsIn(numbersIn(sheet, columns)) : '.'
  const rows = sheet.rows.map((row, i) => check.row(row, i, decimals))
  check.groupsMustDiffer(rows)
  check.barcodesMustDiffer(rows)
  if (!mayInherit && !sheet.isUnreadable) check.valuesMustBeComplete(rows)
  check.paramsMustFit(rows)
  mistakes.sort()
  const groups = rows.map(({ group: { variables, ...group } }) => (Object.keys(variables).length > 0 ? { ...group, variables } : group))
  return { sheet, columns, groups, mistakes }
}

function* numbersIn({ rows }: Sheet, columns: readonly SampleColumn[]): Generator<unknown> {
  const numeric = columns.filter((column) => column.takes === 'variable' && (column.type === 'number' || column.type === 'integer'))
  for (const { cells } of rows) for (const { index } of numeric) yield cells[index]
}

type CheckOf = { workflow: Workflow; columns: readonly SampleColumn[]; given: Given; mistakes: SheetMistakes }

class SampleCheck {
  readonly #of: CheckOf
  readonly #columnOf = new Map<string, VariableColumn>()
  /** The actions that use a variable. */
  readonly #usesOf = new Map<string, DoPlan[]>()
  /** Keyed by variable and value: why it does not fit. Samples often have the same value. */
  readonly #known = new Map<string, string | undefined>()

  constructor(of: CheckOf) {
    this.#of = of
    for (const column of of.columns) if (column.takes === 'variable') this.#columnOf.set(column.variable, column)
    for (const action of doActions(of.workflow)) {
      for (const name of new Set(variablesIn(action.action.with).map(({ variable }) => variable)))
        this.#usesOf.set(name, [...(this.#usesOf.get(name) ?? []), action])
    }
  }

  row(row: SheetRow, i: number, decimals: Decimals): Row {
    const { columns, mistakes } = this.#of
    const variables: Record<string, unknown> = {}
    const labware: Record<string, { barcode?: string; at?: string }> = {}
    let group_id = `g${i + 1}`
    let isRight = true
    for (const column of columns) {
      const cell = row.cells[column.index] ?? ''
      if (cell === '' || column.takes === 'nothing') continue
      const wrong = (why: string) => {
        isRight = false
        mistakes.add(why, row, column)
      }
      if (column.takes === 'group') group_id = this.#text(cell, Id, wrong) ?? group_id
      else if (column.takes === 'barcode') {
        const barcode = this.#barcode(cell, wrong)
        if (barcode !== undefined) labware[column.thread] = { ...labware[column.thread], barcode }
      } else if (column.takes === 'at') labware[column.thread] = { ...labware[column.thread], at: this.#place(cell, wrong) }
      else {
        const read = valueOfCell(cell, { ...column, decimals })
        const misfit = 'misfit' in read ? read.misfit : this.#misfitOf(column, read.value)
        if (misfit !== undefined) wrong(`${column.variable} ${misfit}`)
        if ('value' in read) variables[column.variable] = read.value
      }
    }
    const members = Object.fromEntries(Object.entries(labware).flatMap(([thread, its]) => this.#acquisitionOf(thread, its)))
    return { row, isRight, group: { group_id, members, variables } }
  }

  #acquisitionOf(thread: string, { barcode, at }: { barcode?: string; at?: string }): [string, Acquisition][] {
    if (at === undefined) return barcode === undefined ? [] : [[thread, { barcode }]]
    if (barcode !== undefined) return [[thread, { location: at, barcode }]]
    return [[thread, this.#of.workflow.topology.graph.positions.get(at)?.storage ? { pool: at } : { location: at }]]
  }

  #text(cell: unknown, schema: v.GenericSchema<string, string>, wrong: (why: string) => void): string | undefined {
    const result = v.safeParse(schema, typeof cell === 'number' || typeof cell === 'bigint' ? String(cell) : cell)
    if (result.success) return result.output
    wrong(`${JSON.stringify(cell)} ${typeof cell === 'string' ? result.issues[0].message : 'must be a text'}`)
    return undefined
  }

  #barcode(cell: unknown, wrong: (why: string) => void): string | undefined {
    const isShortened =
      typeof cell === 'string' ? /^\d(?:[.,]\d+)?E\+\d+$/i.test(cell) : typeof cell === 'number' && !Number.isSafeInteger(cell)
    if (!isShortened) return this.#text(cell, Barcode, wrong)
    wrong(`${cell} is a barcode that was shortened as a number; format the column as text, and enter the barcode again`)
    return undefined
  }

  #place(cell: unknown, wrong: (why: string) => void): string {
    const { positions } = this.#of.workflow.topology.graph
    const at = String(cell)
    if (!positions.has(at)) wrong(`there is no place ${at}${didYouMeanOrAmong(at, [...positions.keys()])}`)
    return at
  }

  /** Judges a value by its declaration, then by each parameter that takes it alone. */
  #misfitOf({ variable, declared, type }: VariableColumn, value: unknown): string | undefined {
    const key = `${variable} ${JSON.stringify(value)}`
    if (!this.#known.has(key)) this.#known.set(key, misfitOfGiven(value, { ...declared, type }) ?? this.#refusalOf(variable, value))
    return this.#known.get(key)
  }

  #refusalOf(variable: string, value: unknown): string | undefined {
    for (const action of this.#usesOf.get(variable) ?? []) {
      const refusal = this.#refusal(action, (name) => (name === variable ? value : undefined))
      if (refusal !== undefined) return `does not fit: ${refusal}`
    }
    return undefined
  }

  #refusal(action: DoPlan, variable: (name: string) => unknown): string | undefined {
    try {
      checkParams(this.#of.workflow, action, variable, action.action.do)
      return undefined
    } catch (error) {
      if (error instanceof LabError && error.code === 'invalid') return error.message
      throw error
    }
  }

  groupsMustDiffer(rows: readonly Row[]): void {
    const column = this.#of.columns.find(({ takes }) => takes === 'group') ?? null
    const seen = new Map<string, SheetRow>()
    for (const { row, group } of rows) {
      const before = seen.get(group.group_id)
      if (before) this.#of.mistakes.add(`the group ${group.group_id} is in ${rowWords(before)} too; a row is a group`, row, column)
      else seen.set(group.group_id, row)
    }
  }

  barcodesMustDiffer(rows: readonly Row[]): void {
    const { columns, mistakes, workflow } = this.#of
    const seen = new Map<string, { row: SheetRow; thread: string }>()
    for (const { row, group } of rows) {
      for (const [thread, member] of Object.entries(group.members)) {
        const barcode = 'barcode' in member ? member.barcode : undefined
        const before = barcode === undefined ? undefined : seen.get(barcode)
        if (barcode !== undefined && !before) seen.set(barcode, { row, thread })
        const labware = workflow.document.labware[workflow.threads.get(thread)!.labware]
        if (!before || (before.thread === thread && labware?.group_sharing === 'SHARED_ACROSS_GROUPS')) continue
        const column = columns.find((one) => one.takes === 'barcode' && one.thread === thread) ?? null
        const of = before.thread === thread ? '' : `, for ${before.thread}`
        mistakes.add(`the barcode ${barcode} is in ${rowWords(before.row)} too${of}; labware with a barcode exists once`, row, column)
      }
    }
  }

  /** Reports variables without a value: each empty cell, or the column that is missing. */
  valuesMustBeComplete(rows: readonly Row[]): void {
    const { workflow, given, mistakes } = this.#of
    const shared = actionsForAllGroups(workflow)
    for (const [name, uses] of this.#usesOf) {
      if (given[name] !== undefined || workflow.document.variables[name]?.default !== undefined) continue
      const column = this.#columnOf.get(name)
      if (uses.some((action) => shared.has(action)))
        mistakes.add(
          `${name} has no default, and labware that serves all groups uses it; give it for the whole submission`,
          headerRow,
          column,
        )
      else if (!column)
        mistakes.add(`there is no column ${name}, which has no default; add it, or give its value for the whole submission`, headerRow)
      else
        for (const { row } of rows)
          if ((row.cells[column.index] ?? '') === '') mistakes.add(`the cell is empty, and ${name} has no default`, row, column)
    }
  }

  /** Reports rows whose values fit one by one, and not together. */
  paramsMustFit(rows: readonly Row[]): void {
    const { workflow, given, mistakes } = this.#of
    const several = doActions(workflow).flatMap((action) => {
      const names = [...new Set(variablesIn(action.action.with).map(({ variable }) => variable))]
      return names.length > 1 && names.some((name) => this.#columnOf.has(name)) ? [action] : []
    })
    for (const { row, group, isRight } of rows) {
      for (const action of isRight ? several : []) {
        const valueFor = (name: string) => {
          const its = [group.variables, given].find((values) => Object.hasOwn(values, name))
          return its ? its[name] : workflow.document.variables[name]?.default
        }
        const refusal = this.#refusal(action, valueFor)
        if (refusal !== undefined) mistakes.add(`the values do not fit together: ${refusal}`, row)
      }
    }
  }
}

function rowWords({ row, item }: SheetRow): string {
  return item === undefined ? `row ${row}` : `samples[${item}]`
}

/** Returns a sheet to fill in as CSV: the header for a workflow, and one row with examples. */
export function sampleTemplate(workflow: Workflow): string {
  const { document } = workflow
  const [only, ...others] = document.start
  const barcodes =
    others.length === 0 && !Object.hasOwn(document.variables, 'barcode')
      ? ['barcode']
      : [only!, ...others].map((thread) => `${thread}.barcode`)
  const named = Object.entries(document.variables).map(([name, its]) => {
    const isTaken = ['group', 'group_id', ...barcodes].includes(name)
    return [isTaken ? `variables.${name}` : name, its.example ?? its.default ?? its.one_of?.[0] ?? its.minimum] as const
  })
  const columns = [Object.hasOwn(document.variables, 'group') ? 'group_id' : 'group', ...barcodes, ...named.map(([name]) => name)]
  return csvHead(columns) + csvLine(columns, { [columns[0]!]: 'g1', ...Object.fromEntries(named) })
}

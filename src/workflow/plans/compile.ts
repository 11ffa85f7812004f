// Compiles a document to a workflow that can be run. All mistakes are reported with their places.

import { createHash } from 'node:crypto'
import { messageOf } from '../../errors.ts'
import { checked } from '../../kit/schema.ts'
import { sortedMembers } from '../../kit/sorted_members.ts'
import { checkActions } from './check_actions.ts'
import { checkBranches } from './check_branches.ts'
import { checkLids } from './check_lids.ts'
import { checkNames } from './check_names.ts'
import { checkSharing } from './check_sharing.ts'
import { checkValues } from './check_values.ts'
import { checkWays } from './check_ways.ts'
import { checkWindows } from './check_windows.ts'
import { checkDeclarations } from './declared_variables.ts'
import { JsonWorkflow, WorkflowDocument } from './documents.ts'
import { fillFeeds } from './feeds.ts'
import { wrong } from './mistakes.ts'
import { type Draft, outline } from './outline.ts'
import { actionsOf, type MethodPlan, type Workflow } from './plan.ts'
import type { Topology } from './topology.ts'

/**
 * Throws `invalid`, naming the place: `workflow seal-and-spin: threads.plate.steps[1].method: there is no method shke_it`.
 * `origin` names a text that is not a workflow at all.
 */
export function compileWorkflow(
  input: unknown,
  topology: Topology,
  origin: string,
  form: Workflow['form'],
  how: { isInsert?: boolean } = {},
): Workflow {
  return compileDocument(workflowDocument(input, origin, form), topology, form, how)
}

/**
 * Compiles a document that `workflowDocument` has returned. Throws `invalid`, naming the place. `isInsert`: its last step or action is inserted elsewhere, so
 * that the order of the steps proves nothing.
 */
export function compileDocument(
  document: WorkflowDocument,
  topology: Topology,
  form: Workflow['form'],
  { isInsert = false }: { isInsert?: boolean } = {},
): Workflow {
  const where = `workflow ${document.name}`
  if (document.topology !== topology.name)
    throw wrong(`${where}: topology`, `it is made for ${document.topology}, and this is ${topology.name}`)
  const draft: Draft = { document, topology, where, ...outline(document, topology) }
  checkNames(draft)
  checkLids(draft, { isInsert })
  for (const check of [checkDeclarations, checkValues, checkSharing, checkActions, checkWays, checkWindows]) check(draft)
  // A run with code is restored from its file, so a file that an earlier version accepted must stay valid: the thread is held instead.
  if (!holdsCode(draft)) checkBranches(draft)
  const { methods, threads, operations } = draft
  fillFeeds(threads)
  const carriers = new Map([...threads.values()].map(({ name, labware }) => [labware, name]))
  return {
    document,
    name: document.name,
    topology,
    hash: hashOf(document, where),
    hasCode: holdsCode(draft),
    isAlone: [...actionsOf(draft)].every(({ labware }) => labware.length < 2),
    form,
    methods,
    threads,
    operations,
    carrier: (labware) => carriers.get(labware),
  }
}

/** Parses a document and fills in the defaults. JSON must not contain code. Throws `invalid`. */
export function workflowDocument(input: unknown, origin: string, form: Workflow['form']): WorkflowDocument {
  try {
    return form === 'json' ? { ...checked(JsonWorkflow, input, origin), on: {} } : checked(WorkflowDocument, input, origin)
  } catch (error) {
    // A module can export an object that contains itself.
    if (error instanceof RangeError) throw wrong(origin, 'it is nested without end')
    throw error
  }
}

/** Hashes the document, independent of the order of members. */
function hashOf(document: WorkflowDocument, where: string): string {
  try {
    return createHash('sha256').update(JSON.stringify(document, canonical)).digest('hex')
  } catch (error) {
    throw wrong(where, `it holds what JSON cannot: ${messageOf(error)}`)
  }
}

/** The replacer for `JSON.stringify` that writes functions and handlers as their source text. */
export function asText(_: string, value: unknown): unknown {
  if (typeof value === 'function') return String(value)
  if (typeof value === 'object' && value !== null && 'handle' in value && typeof value.handle === 'function') return String(value.handle)
  return value
}

function canonical(key: string, given: unknown): unknown {
  const value = asText(key, given)
  // Earlier versions filled in an empty `else`. Open runs with code are restored only with the same hash.
  if (isBranchWithoutElse(value)) return sortedMembers(key, { ...value, else: [] })
  return sortedMembers(key, value)
}

function isBranchWithoutElse(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'branch' in value && 'cases' in value && !('else' in value)
}

function holdsCode({ document, methods, threads }: Pick<Draft, 'document' | 'methods' | 'threads'>): boolean {
  return (
    Object.keys(document.on).length > 0 ||
    [...actionsOf({ methods, threads })].some(({ kind }) => kind === 'code') ||
    [...methods.values()].some(emitsByCode)
  )
}

function emitsByCode({ emits }: MethodPlan): boolean {
  return Object.values(emits).some((emitting) => typeof emitting === 'function')
}

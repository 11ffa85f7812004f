// The tables of statuses as pictures, for the documentation (Mermaid).

import {
  actionTransitions,
  isTerminal,
  methodTransitions,
  phaseTransitions,
  submissionTransitions,
  type Transitions,
  threadTransitions,
  workflowTransitions,
} from './state/statuses.ts'

/** Sorted in the order of a run, from the outside to the inside. */
const machines: Record<string, Transitions<string>> = {
  SUBMISSION: submissionTransitions,
  EXECUTION: phaseTransitions,
  WORKFLOW: workflowTransitions,
  THREAD: threadTransitions,
  METHOD: methodTransitions,
  ACTION: actionTransitions,
}

/** The document with the diagrams between its marks. */
export function withDiagrams(document: string): string {
  return document.replace(/(<!-- statuses -->).*(<!-- \/statuses -->)/s, (_, begin, end) => `${begin}\n\n${diagrams()}\n\n${end}`)
}

/** A heading, a diagram and a table of reasons for each. */
function diagrams(): string {
  return Object.entries(machines)
    .map(([name, table]) => `### ${name}\n\n${diagram(table)}\n\n${reasons(table)}`)
    .join('\n\n')
}

/** Ways that are there from everywhere are left to the table. */
function diagram(table: Transitions<string>): string {
  const states = Object.keys(table).filter((status) => !isTerminal(table, status))
  const isEverywhere = (next: string) => states.length > 3 && states.filter((status) => table[status]![next]).length >= states.length - 2
  const arrows = states.flatMap((status) =>
    Object.keys(table[status]!)
      .filter((next) => next !== status && !isEverywhere(next))
      .map((next) => `  ${status} --> ${next}`),
  )
  return ['```mermaid', 'stateDiagram-v2', ...arrows, '```'].join('\n')
}

/** A row for each target: from where, and why. */
function reasons(table: Transitions<string>): string {
  const rows = new Map<string, { to: string; why: string; from: string[] }>()
  for (const [from, nexts] of Object.entries(table)) {
    for (const [to, why] of Object.entries(nexts)) {
      if (to === from) continue
      const row = rows.get(`${to}: ${why}`) ?? { to, why: why!, from: [] }
      row.from.push(from)
      rows.set(`${to}: ${why}`, row)
    }
  }
  const open = Object.keys(table).filter((status) => !isTerminal(table, status))
  const lines = [...rows.values()].map(({ to, why, from }) => `| ${to} | ${why} | ${listed(from, to, open)} |`)
  return ['| becomes | when | from |', '| --- | --- | --- |', ...lines].join('\n')
}

/** All that are open, but for a few: these are easier to read. */
function listed(from: readonly string[], to: string, open: readonly string[]): string {
  const others = open.filter((status) => status !== to && !from.includes(status))
  if (from.length < 6 || others.length > 3) return from.join(', ')
  return others.length === 0 ? 'wherever it is' : `wherever it is, but not from ${others.join(', ')}`
}

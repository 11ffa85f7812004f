import { test } from 'tap'
import { LabError } from '../../errors.ts'
import {
  actionTransitions,
  isTerminal,
  type MethodStatus,
  methodTransitions,
  phaseTransitions,
  Status,
  statusAlone,
  submissionTransitions,
  type Transitions,
  threadTransitions,
  workflowTransitions,
} from './statuses.ts'

const tables: Record<string, Transitions<string>> = {
  action: actionTransitions,
  method: methodTransitions,
  thread: threadTransitions,
  workflow: workflowTransitions,
  phase: phaseTransitions,
  submission: submissionTransitions,
}

test('what follows is a status itself, and can be come to from the first', (t) => {
  for (const [name, table] of Object.entries(tables)) {
    const first = Object.keys(table)[0]!
    const reached = new Set([first === 'CREATED' || first === 'PENDING' || first === 'accepting' ? first : 'CREATED'])
    for (const status of reached) for (const next of Object.keys(table[status] ?? {})) reached.add(next)
    t.same([...reached].sort(), Object.keys(table).sort(), name)
  }
  t.end()
})

test('an end has nothing after it', (t) => {
  t.same(ends(actionTransitions), ['ABORTED', 'COMPLETED', 'ERRORED', 'SKIPPED'])
  t.same(ends(methodTransitions), ['COMPLETED', 'PARTIAL_COMPLETE', 'SKIPPED'])
  t.same(ends(threadTransitions), ['ABORTED', 'COMPLETED', 'FAILED', 'STOPPED'])
  t.same(ends(workflowTransitions), ['COMPLETED', 'ERRORED'])
  t.same(ends(submissionTransitions), ['ABORTED', 'COMPLETED', 'FAILED'])
  t.end()
})

test('a status is published when it changes, and only then', (t) => {
  const published: string[] = []
  const status = new Status<MethodStatus>(methodTransitions, statusAlone('CREATED'), (next) => published.push(next))
  status.become('IN_PROGRESS')
  status.become('IN_PROGRESS')
  status.become('COMPLETED')
  t.same(published, ['CREATED', 'IN_PROGRESS', 'COMPLETED'])
  t.end()
})

test('what may not follow throws and changes nothing', (t) => {
  const published: string[] = []
  const status = new Status<MethodStatus>(methodTransitions, statusAlone('CREATED'), (next) => published.push(next))
  status.become('COMPLETED')
  t.throws(() => status.become('IN_PROGRESS'), new LabError('internal', 'IN_PROGRESS cannot follow COMPLETED'))
  t.equal(status.current, 'COMPLETED')
  t.same(published, ['CREATED', 'COMPLETED'])
  t.end()
})

function ends(table: Transitions<string>): string[] {
  return Object.keys(table)
    .filter((status) => isTerminal(table, status))
    .sort()
}

// Checks the names in a workflow: of labware, threads, variables and events.

import {
  actionTransitions,
  type BacklogStatus,
  isTerminal,
  methodTransitions,
  phaseTransitions,
  submissionTransitions,
  type Transitions,
  threadTransitions,
  workflowTransitions,
} from '../state/statuses.ts'
import { member, mustBeKnown, mustBeOnce, mustHave, wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { placeText, variablesIn } from './params.ts'
import { actionsOf, emissionsOf, own } from './plan.ts'

/** Throws `invalid`, naming the place. */
export function checkNames(draft: Draft): void {
  for (const check of [startsAreThreads, labwareIsCarriedOnce, labwareIsTemplated, variablesAreDeclared, eventsAreOurs, handlersHear])
    check(draft)
}

function startsAreThreads({ document, threads, where }: Draft): void {
  mustBeOnce(document.start, `${where}: start`)
  document.start.forEach((name, i) => {
    mustBeKnown('thread', name, threads.keys(), `${where}: start[${i}]`)
  })
}

function labwareIsCarriedOnce({ document, threads, where }: Draft): void {
  const carriers = new Map<string, string>()
  for (const { name, labware, template } of threads.values()) {
    const at = `${where}: threads.${name}`
    mustBeKnown('labware', labware, Object.keys(document.labware), `${at}.labware`)
    const other = carriers.get(labware)
    if (other) throw wrong(`${at}.labware`, `thread ${other} carries ${labware} already; a labware has one thread`)
    carriers.set(labware, name)
    template.contributes_to.forEach((fed, i) => {
      mustBeKnown('labware', fed, Object.keys(document.labware), `${at}.contributes_to[${i}]`)
    })
  }
}

function labwareIsTemplated(draft: Draft): void {
  const templates = Object.keys(draft.document.labware)
  for (const { labware, action, path } of actionsOf(draft)) {
    const at = `${draft.where}: ${path}`
    labware.forEach((name, i) => {
      if (name !== own) mustBeKnown('labware', name, templates, `${at}.labware[${i}]`)
    })
    for (const list of ['sites', 'tips'] as const) {
      for (const name of Object.keys(list in action ? action[list as never] : {})) mustBeKnown('labware', name, templates, `${at}.${list}`)
    }
  }
}

function variablesAreDeclared(draft: Draft): void {
  for (const { kind, action, path } of actionsOf(draft)) {
    for (const { variable, keys } of kind === 'do' ? variablesIn(action.with) : [])
      mustBeKnown('variable', variable, Object.keys(draft.document.variables), `${draft.where}: ${path}.with.${placeText(keys)}`)
  }
}

function eventsAreOurs(draft: Draft): void {
  for (const { emission, path } of emissionsOf(draft))
    if (emission.emit.startsWith('OPERATOR.')) throw wrong(`${draft.where}: ${path}.emit`, operatorsOwn)
}

const operatorsOwn = 'names that begin with OPERATOR. are the service’s own; give the event another'

const ends = <Status extends string>(table: Transitions<Status>) =>
  Object.keys(table).filter((status) => isTerminal(table, status as Status))

/** The statuses of events on the bus of an execution, by type of entity; null for any status. Incidents and faults are not published there. */
const published: Readonly<Record<string, readonly string[] | null>> = {
  ACTION: Object.keys(actionTransitions),
  METHOD: Object.keys(methodTransitions),
  THREAD: Object.keys(threadTransitions),
  WORKFLOW: Object.keys(workflowTransitions),
  EXECUTION: ends(phaseTransitions).map((phase) => phase.toUpperCase()),
  SUBMISSION: ['ACCEPTED', ...ends(submissionTransitions)],
  GROUP: ['COMPLETED'],
  SLOT: ['OVERFLOW', 'REJECTED', 'AWAITING_DECISION', 'ORPHANED', 'ABANDONED'] satisfies BacklogStatus[],
  DEVICE_OP: ['FAILED'],
  CUSTOM: ['EMITTED'],
  TIP_RACK: ['EMPTY', 'LOW'],
  OPERATOR: ['INSTRUCTION'],
}

/** Refuses a handler of an event that is never published, which would wait in silence. */
function handlersHear({ document, where }: Draft): void {
  for (const name of Object.keys(document.on)) {
    const at = `${where}: ${member('on', name)}`
    const [type = '', ...rest] = name.split('.')
    if (rest.length === 0 || rest.length > 2 || rest.includes(''))
      throw wrong(at, 'an event is called THREAD.COMPLETED or THREAD.<id>.COMPLETED')
    if (type === 'INCIDENT')
      throw wrong(at, 'incidents go to sinks and streams, not to the handlers of a workflow: what one does may be why')
    mustBeKnown('type of event', type, Object.keys(published), at)
    mustHave(type, 'status', { word: rest.at(-1)!, known: published[type] ?? [] }, at)
  }
}

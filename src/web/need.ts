// The shape of what waits for a person: its words, its decisions with their requests, and its task if there is one.

import type { Operations } from '../clients/ts/benchd.ts'

/** A request to the API, as the client takes it. */
export type Request = { [Op in keyof Operations]: { operation: Op; asked?: object } }[keyof Operations]

export type Decision = {
  /** Begins with the word of the decision: `Retry`, `Abort thread`. */
  label: string
  /** The consequence, in one sentence. */
  consequence: string
  request: Request
  danger?: boolean
  /** The reason why it cannot be decided so now. */
  why?: string
  /** A text that a person types or scans before pressing: its label, the member of the body that holds it, and the text that is wanted. */
  asks?: { label: string; member: string; isOptional?: boolean; wants?: string }
}

/** The request of a decision, with what was typed. */
export function requestOf({ request, asks }: Decision, typed: string): Request {
  return asks ? withBody(request, { [asks.member]: typed }) : request
}

/** Adds members to the body of a request. */
export function withBody(request: Request, members: object): Request {
  const { body } = request.asked as { body: object }
  return { ...request, asked: { ...request.asked, body: { ...body, ...members } } } as Request
}

/**
 * Work for the hands of a person, which the page shows large: the first decision has the large button. `phase` changes with each answer that leaves
 * the task open. `carries` is the labware that is carried, which may also be put elsewhere or stay where it is; undefined for other work.
 */
export type Task = { phase: string; note?: string; carries?: { labware: string; labware_id: string; thread_id: string; to: string } }

export type Need = {
  id: string
  title: string
  /** The text says what happened, and what to do. */
  text: string
  /** Unix time, s. */
  since?: number
  severe: boolean
  decisions: Decision[]
  task?: Task
  /** The screen on which more is shown. */
  href?: string
}

/** Puts the decisions first that are possible now. */
export function possibleFirst(decisions: readonly Decision[]): Decision[] {
  return [...decisions.filter(({ why }) => !why), ...decisions.filter(({ why }) => why)]
}

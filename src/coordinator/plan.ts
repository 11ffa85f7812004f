// The plan of a journey: its legs, checked against the present topologies and workflows of the benches. A journey keeps its first plan.

import { hash } from 'node:crypto'
import { messageOf } from '../errors.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { sortedMembers } from '../kit/sorted_members.ts'
import { Anything, Topology, Workflow, Workflows, type WorkflowThread } from './answers.ts'
import { Refused, type RemoteBench } from './benches.ts'
import { type Lab, type Leg, mistaken } from './lab_file.ts'

/** A leg as a journey carries it out. It is JSON, and stored with the journey. */
export type PlannedLeg = {
  bench: string
  workflow: string
  /** The thread of the labware that travels, and where it begins. */
  thread: string
  start: string
  /** Whether a person or a carrier puts the labware there. */
  is_placed: boolean
  variables: Record<string, unknown>
  /** How the labware leaves the bench for the next one; null for the last leg. */
  out: { position: string; workflow: string; back: string } | null
  /** How the labware comes to this bench; null for the first leg. */
  carried: { by: string; from: string; to: string; seconds: number; max_wait: number } | null
  /** The number of positions on which labware can rest on the bench between two legs; null where the labware does not rest there. */
  room: number | null
}

/** Workflows that the coordinator gives to a bench: the runs of one move that bring labware to where a carrier takes it. */
type OwnWorkflow = { bench: string; document: { name: string } }

export type Plan = { legs: PlannedLeg[]; own: OwnWorkflow[] }

/** Plans all journeys of the file. `away` names the benches that did not answer; their legs are not checked. Rejects with `config`, naming each mistake. */
export async function planAll(lab: Lab, benches: ReadonlyMap<string, RemoteBench>): Promise<{ plans: Map<string, Plan>; away: string[] }> {
  const { mistakes, plans, away } = await plannedAll(lab, benches)
  if (mistakes.length) throw mistaken(lab.origin, mistakes)
  return { plans, away: [...away.values()] }
}

type Planned = { plans: Map<string, Plan>; away: Map<string, string>; mistakes: string[] }

/** Plans the journeys as `planAll` does, but returns the mistakes. `away` has, by bench, a sentence for each one without a readable answer. */
export async function plannedAll(lab: Lab, benches: ReadonlyMap<string, RemoteBench>): Promise<Planned> {
  const mistakes: string[] = []
  const away = new Map<string, string>()
  const plans = new Map<string, Plan>()
  const known = new Map<string, Promise<Topology | undefined>>()
  for (const [name, legs] of lab.legs) {
    const plan: Plan = { legs: [], own: [] }
    for (const [i, leg] of legs.entries()) {
      try {
        const topology = known.get(leg.bench) ?? benches.get(leg.bench)!.find('/api/topology', Topology)
        known.set(leg.bench, topology)
        const planned = await plannedLeg(leg, legs[i + 1], { bench: benches.get(leg.bench)!, topology: await topology, mistakes })
        if (!planned) continue
        plan.legs.push(planned.leg)
        plan.own.push(...planned.own)
      } catch (error) {
        away.set(leg.bench, messageOf(error))
      }
    }
    if (plan.legs.length === legs.length) plans.set(name, plan)
  }
  return { plans, away, mistakes }
}

type At = { bench: RemoteBench; topology: Topology | undefined; mistakes: string[] }

async function plannedLeg(
  leg: Leg,
  next: Leg | undefined,
  { bench, topology, mistakes }: At,
): Promise<{ leg: PlannedLeg; own: OwnWorkflow[] } | undefined> {
  const before = mistakes.length
  const wrong = (member: string, what: string) => void mistakes.push(`${leg.place}${member}: ${what}`)
  if (!topology) return wrong('.on', `no topology is loaded on ${leg.bench}; load one on that bench: POST /api/topology/load`)
  const workflow = await workflowOf(bench, leg, wrong)
  if (!workflow) return undefined
  if (workflow.topology !== topology.name)
    return wrong('.workflow', `${leg.workflow} runs on the topology ${workflow.topology}, and ${leg.bench} has loaded ${topology.name}`)
  const name = leg.thread ?? (workflow.start.length === 1 ? workflow.start[0]! : undefined)
  if (name === undefined)
    return wrong(
      '.thread',
      `${leg.workflow} begins with several threads (${workflow.start.join(', ')}); name the one whose labware travels`,
    )
  if (!workflow.start.includes(name))
    return wrong('.thread', `${leg.workflow} does not begin with a thread ${name}${didYouMean(name, workflow.start)}`)
  const thread = workflow.threads[name]!
  checkHandover(leg.from, '.from', topology, leg.bench, wrong)
  checkHandover(leg.until, '.until', topology, leg.bench, wrong)
  checkStart(leg, thread, wrong)
  if (next) checkEnd(leg, thread, topology, wrong)
  if (mistakes.length > before) return undefined
  const type = workflow.labware[thread.labware]!.type
  const own = leg.until === undefined ? [] : movesOf(leg.until, thread.end.at[0]!, type, topology.name)
  return {
    leg: {
      bench: leg.bench,
      workflow: leg.workflow,
      thread: name,
      start: leg.from ?? thread.start.at,
      is_placed: thread.start.mode === 'MANUAL_PLACE',
      variables: leg.variables,
      out: leg.until === undefined ? null : { position: leg.until, workflow: own[0]!.name, back: own[1]!.name },
      carried: leg.carried ?? null,
      room: leg.until === undefined ? null : thread.end.at.length,
    },
    own: own.map((document) => ({ bench: leg.bench, document })),
  }
}

type Wrong = (member: string, what: string) => void

async function workflowOf(bench: RemoteBench, leg: Leg, wrong: Wrong): Promise<Workflow | undefined> {
  const found = await bench.find(`/api/workflows/${leg.workflow}`, Workflow)
  if (found) return found.document
  const { workflows } = await bench.get('/api/workflows', Workflows)
  const names = workflows.map(({ name }) => name)
  wrong('.workflow', `${leg.bench} has no workflow ${leg.workflow}${didYouMean(leg.workflow, names)}`)
  return undefined
}

function checkHandover(position: string | undefined, member: string, { positions, name }: Topology, bench: string, wrong: Wrong): void {
  if (position === undefined) return
  const found = positions.find((one) => one.name === position)
  if (!found) {
    const guess = didYouMean(
      position,
      positions.map((one) => one.name),
    )
    wrong(member, `the topology ${name} of ${bench} has no position ${position}${guess}`)
  } else if (!found.handover)
    wrong(member, `${position} of ${bench} is no position for hand-over; mark it with "handover": true in the topology ${name}`)
}

function checkStart(leg: Leg, { start }: WorkflowThread, wrong: Wrong): void {
  if (start.mode === 'DISPENSE') {
    wrong('.workflow', `${leg.workflow} takes its labware out of ${start.at}; labware of a journey is placed, or stands there already`)
  } else if (leg.from !== undefined && start.mode !== 'MANUAL_PLACE')
    wrong('.workflow', `${leg.workflow} begins in ${start.mode}; labware that a carrier brings is placed: "mode": "MANUAL_PLACE"`)
}

function checkEnd(leg: Leg, { end }: WorkflowThread, { positions }: Topology, wrong: Wrong): void {
  if (end.mode !== 'LEAVE_IN_PLACE')
    wrong('.workflow', `${leg.workflow} ends in ${end.mode}; labware that goes on to another bench rests first: "mode": "LEAVE_IN_PLACE"`)
  const passing = end.at.find((at) => !positions.find((one) => one.name === at)?.parking)
  if (passing !== undefined)
    wrong(
      '.workflow',
      `${leg.workflow} ends at ${passing} of ${leg.bench}, which is no parking position; labware rests on one until its carrier is free`,
    )
}

/** Makes the two workflows of one move to the carrier: from where labware rests, and for labware that the carrier has brought back. */
function movesOf(position: string, parking: string, type: string, topology: string): OwnWorkflow['document'][] {
  return [
    moveOf('out', { at: parking, mode: 'REUSE_EXISTING' }, position, type, topology),
    moveOf('back', { at: position, mode: 'MANUAL_PLACE' }, position, type, topology),
  ]
}

/** Makes a workflow of one move. Its name encodes its content, so that a name means the same workflow on every bench, for good. */
function moveOf(what: 'out' | 'back', start: { at: string; mode: string }, position: string, type: string, topology: string) {
  const labware = { labware: 'labware', start, end: { at: [position], mode: 'MANUAL_REMOVE' }, steps: [] }
  const document = { format: 1, topology, labware: { labware: { type } }, threads: { labware }, start: ['labware'] }
  return { ...document, name: `lab-${what}-${hash('sha256', JSON.stringify(document, sortedMembers)).slice(0, 12)}` }
}

/** Uploads the workflows that the benches do not have yet. Rejects with `config` if a key lacks the right. */
export async function giveWorkflows(plan: Plan, benches: ReadonlyMap<string, RemoteBench>): Promise<void> {
  for (const { bench: name, document } of plan.own) {
    const bench = benches.get(name)!
    if (await bench.find(`/api/workflows/${document.name}`, Anything)) continue
    try {
      await bench.ask('PUT', `/api/workflows/${document.name}`, document)
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 403) throw error
      throw mistaken(`benches.${name}`, [`its key may not put workflows; the key of a bench for the lab needs the scope admin`])
    }
  }
}

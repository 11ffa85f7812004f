// The manual steps of runs, as tasks for the hands of a person.

import type { State } from '../clients/ts/benchd.ts'
import type { Decision, Need } from './need.ts'
import { sentence } from './words.ts'

type Step = State['step'][string]

export function steps({ step }: State): Need[] {
  return Object.values(step).map((one) => ({
    ...(one.move ? carrying(one.move, one) : { title: 'Manual step', text: one.instruction, task: { phase: 'DO' } }),
    id: `step ${one.step_id}`,
    since: one.since,
    severe: false,
    href: `#/runs/${one.execution_id}`,
    decisions: [confirming(one)],
  }))
}

/** The words of a task to carry labware. The service words a task when it is shown first; the label of its button says what comes next. */
function carrying(
  { labware, labware_id, barcode, to, is_taken, is_again }: NonNullable<Step['move']>,
  { instruction, thread_id }: Step,
): Pick<Need, 'title' | 'text' | 'task'> {
  const words = is_taken ? `Put ${labware} down at ${to}` : instruction.replace(/^Shown again after a restart: /, '')
  const isNamed = barcode === null || words.includes(barcode)
  return {
    title: `Carry ${labware}`,
    text: sentence(isNamed ? words : `${words} (barcode ${barcode})`),
    task: {
      phase: is_taken ? 'PUT' : 'TAKE',
      ...(is_again && { note: 'Shown again after a restart' }),
      carries: { labware, labware_id, thread_id, to },
    },
  }
}

/** The answer of the large button. A task that is shown again after a restart has one answer alone: nobody knows how far it had come. */
function confirming({ step_id, move }: Step): Decision {
  const isTake = move?.confirm === 'twice' && !move.is_taken && !move.is_again
  return {
    label: isTake ? 'Taken' : 'Done',
    consequence: isTake ? `${move.labware} is in your hands.` : 'The run goes on.',
    request: { operation: 'confirmManualStep', asked: { path: { step_id }, body: isTake ? { answer: 'taken' } : {} } },
    ...(move?.ask_barcode && {
      asks: { label: `Barcode that was read of ${move.labware}`, member: 'barcode', ...(move.barcode !== null && { wants: move.barcode }) },
    }),
  }
}

/** Lists the reminders of tasks that nobody has answered: each sounds once more. */
export function reminders({ incident, step }: State): string[] {
  return Object.values(incident).flatMap(({ incident_id, detail }) =>
    String(detail['step_id']) in step ? [`reminder ${incident_id}`] : [],
  )
}

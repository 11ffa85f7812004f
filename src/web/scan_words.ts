// The decisions about labware that a scanner of the bench did not know.

import type { Thread } from '../clients/ts/benchd.ts'
import type { Decision } from './need.ts'

/** Returns the words of the decisions about labware that a scanner did not know. */
export function wordsOfScan(plate: string): Partial<Record<Thread['decisions'][number], Pick<Decision, 'label' | 'consequence'>>> {
  return {
    RETRY: { label: 'Scan again', consequence: `Put ${plate} there first. The run goes on if the barcode is the right one.` },
    CONTINUE: { label: `It is ${plate}`, consequence: 'Whatever was read: the run goes on, and the barcode stays as it is.' },
  }
}

/** The decision that labware is the right one, and has another barcode. */
export function correcting({ thread_id, status }: Thread, plate: string): Decision {
  return {
    label: 'Correct the barcode',
    consequence: `It is ${plate}, which has this barcode from now on. The run goes on.`,
    request: {
      operation: 'recoverThread',
      asked: { path: { thread_id }, body: { decision: 'CONTINUE' }, headers: { 'If-State': status } },
    },
    asks: { label: `Barcode of ${plate}`, member: 'barcode' },
  }
}

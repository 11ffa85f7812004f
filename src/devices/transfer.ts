// A transfer of labware between a slot of a storage and its transfer station that a person orders: the places of the labware are noted before and after.

import { isRefusal } from './failure.ts'
import type { OperationRecord, PerformResult } from './records.ts'

/** `slot` is left out for the first free one. */
export type TransferOrder = { device_id: string; operation: 'store' | 'retrieve'; slot?: number | undefined }

/** How a transfer ended: `done`; `refused`, so that nothing has moved; `cut off`, so that the labware may be at either end. */
export type TransferEnd = 'done' | 'refused' | 'cut off'

export type Transfer = { slot: number; ended(how: TransferEnd): Promise<void> }

/** Returns the order of a transfer; undefined for another operation. */
export function transferOf(device_id: string, operation: string, { slot }: Readonly<Record<string, unknown>>): TransferOrder | undefined {
  if (operation !== 'store' && operation !== 'retrieve') return undefined
  return { device_id, operation, slot: slot as number | undefined }
}

type Begun = (record: OperationRecord) => void

type Transferring = {
  params: Record<string, unknown>
  begin(order: TransferOrder): Promise<Transfer>
  begun?: Begun | undefined
  /** Calls `begun` when the operation begins: until then it was refused before anything moved. */
  perform(params: Record<string, unknown>, begun: Begun): Promise<PerformResult>
}

/** Performs a transfer. Resolves and rejects as `perform` does, and rejects as `begin` does if something stands in the way. */
export async function transfer(order: TransferOrder, { params, begun, begin, perform }: Transferring): Promise<PerformResult> {
  const { slot, ended } = await begin(order)
  let hasBegun = false
  try {
    const result = await perform({ ...params, slot }, (record) => {
      hasBegun = true
      begun?.(record)
    })
    await ended(result.success ? 'done' : 'cut off')
    return result
  } catch (error) {
    await ended(hasBegun && !isRefusal(error) ? 'cut off' : 'refused')
    throw error
  }
}

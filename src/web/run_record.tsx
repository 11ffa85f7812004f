// The newest rows of the record of a run, which are fetched from where the last answer ended.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { GetRecordResponse } from '../clients/ts/benchd.ts'
import { bench, link } from './store.tsx'

export type RecordRow = GetRecordResponse['rows'][number]

const newest_bytes = 400_000
const mostRows = 4000
/** The interval for rows of which no state of the run tells: notes, readings, decisions. */
const poll_ms = 3000

/** Returns the newest rows, the oldest first; undefined before the first answer. Reads again when `change` does, and now and then while the run is open. */
export function useRecord(execution_id: string, { hasRecord, isOpen, change }: { hasRecord: boolean; isOpen: boolean; change: unknown }) {
  const rows = useSignal<readonly RecordRow[] | undefined>(undefined)
  const place = useSignal<{ after?: number; isBusy: boolean; wants: boolean }>({ isBusy: false, wants: false })
  const read = async () => {
    const its = place.value
    if (its.isBusy) {
      its.wants = true
      return
    }
    its.isBusy = true
    const query = its.after === undefined ? { newest_bytes } : { after: its.after }
    const answer = await bench.value?.call('getRecord', { path: { execution_id }, query }).catch(() => undefined)
    its.isBusy = false
    if (answer) {
      its.after = answer.next
      if (answer.rows.length > 0 || !rows.value) rows.value = [...(rows.value ?? []), ...answer.rows].slice(-mostRows)
    }
    if (!its.wants) return
    its.wants = false
    await read()
  }
  useEffect(() => {
    if (hasRecord) void read()
  }, [execution_id, change])
  useEffect(() => {
    if (!isOpen || !hasRecord) return
    const timer = setInterval(() => link.value === 'live' && !document.hidden && void read(), poll_ms)
    return () => clearInterval(timer)
  }, [execution_id, isOpen])
  return rows
}

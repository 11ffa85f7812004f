// The parts of a card that are read on request: the last messages on the wire, and the values of the last operation.

import { useSignal } from '@preact/signals'
import type { GetDeviceWireResponse } from '../clients/ts/benchd.ts'
import { bench } from './store.tsx'
import { valuesText } from './values_text.ts'
import { clockTime } from './words.ts'

/** The wire log before the fault, fetched on request. */
export function LastWords({ device_id }: { device_id: string }) {
  const frames = useSignal<GetDeviceWireResponse['frames'] | undefined>(undefined)
  const read = async () => {
    const wire = await bench.value?.call('getDeviceWire', { path: { device_id } }).catch(() => undefined)
    frames.value = (wire?.fault_frames ?? wire?.frames ?? []).slice(-mostWords)
  }
  return (
    <details onToggle={(event) => event.currentTarget.open && void read()}>
      <summary>Last messages on the wire</summary>
      <ol class="wire">
        {frames.value?.map(({ at, direction, text }, i) => (
          <li key={i}>
            <time>{clockTime(at)}</time> {direction === 'to_device' ? '→' : '←'} <code>{text}</code>
          </li>
        ))}
      </ol>
    </details>
  )
}

const mostWords = 12

/** The values of an operation, fetched on request. */
export function Values({ operation_id }: { operation_id: string }) {
  const values = useSignal('')
  const read = async () => {
    const record = await bench.value?.call('getOperation', { path: { operation_id } }).catch(() => undefined)
    values.value = record?.data === undefined ? 'The operation returned no values.' : valuesText(record.data)
  }
  return (
    <details onToggle={(event) => event.currentTarget.open && void read()}>
      <summary>Values of the last operation</summary>
      <pre class="long">{values.value}</pre>
    </details>
  )
}

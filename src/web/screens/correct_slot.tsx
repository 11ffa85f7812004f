// The form in which a person says what is in a slot of a storage. Nothing moves.

import { useSignal } from '@preact/signals'
import { BarcodeField } from '../barcode_field.tsx'
import { Choice, Stepper, Text } from '../parts.tsx'
import { labwareWords, type Storage, type Stored } from '../storage.ts'
import { ask, refusal } from '../store.tsx'

const unknownType = 'unknown'

/** The next slot is chosen after each correction, so that a row of slots is scanned without the hands on the screen. */
export function CorrectSlot({ storage: { device_id, slots }, stored }: { storage: Storage; stored: readonly Stored[] }) {
  const typed = useSignal('1')
  const content = useSignal('labware')
  const barcode = useSignal('')
  const type = useSignal(stored[0]?.its.type ?? unknownType)
  const isBusy = useSignal(false)
  const slot = Number(typed.value)
  const isThere = slots.some((one) => one.slot === slot)
  const present = stored.find((one) => one.slot === slot)?.its
  const step = (by: number) => {
    typed.value = String(Math.min(slots.length, Math.max(1, (Number.isInteger(slot) ? slot : 0) + by)))
  }
  const save = async () => {
    isBusy.value = true
    const labware = content.value === 'empty' ? null : { barcode: barcode.value.trim() || null, type: type.value.trim() || unknownType }
    const answer = await ask('correctInventory', { path: { device_id }, body: { slots: [{ slot, labware }] } })
    isBusy.value = false
    if (!answer) return
    barcode.value = ''
    if (slot < slots.length) step(1)
  }
  const why = isThere ? undefined : `The slots are 1 to ${slots.length}.`
  const reason = why ?? refusal.value ?? (isBusy.value ? 'It is being saved.' : undefined)
  return (
    <form
      class="fields correct"
      onSubmit={(event) => {
        event.preventDefault()
        if (!reason) void save()
      }}
    >
      <div class="field">
        <label for="correct-slot">Slot</label>
        <Stepper label="Slot" onStep={step}>
          <input
            id="correct-slot"
            inputMode="numeric"
            autocomplete="off"
            value={typed.value}
            onInput={(event) => (typed.value = event.currentTarget.value)}
          />
        </Stepper>
        <small>{why ?? (present ? `It has ${labwareWords(present)}.` : 'It is empty.')}</small>
      </div>
      <Choice label="Content" of={content} choices={{ labware: 'Labware', empty: 'Empty' }} />
      {content.value === 'labware' && (
        <>
          <div class="field">
            <span>Barcode</span>
            <BarcodeField label="Barcode in the slot" of={barcode} />
            <small>Scan or type it. Leave it empty for labware without one.</small>
          </div>
          <Text id="correct-type" label="Type" of={type} />
        </>
      )}
      <div class="row">
        <button type="submit" class="main" disabled={reason !== undefined} title={reason}>
          Save
        </button>
        <p class="hint">Nothing moves.</p>
      </div>
    </form>
  )
}

// *Somebody moved it*: stores the position of labware that a person has carried.

import { useSignal } from '@preact/signals'
import type { Position, Standing } from './deck_state.ts'
import { Act, Choice, namesOf } from './parts.tsx'
import { ask } from './store.tsx'

/** The free ones of `positions` are offered in their order; none is chosen already, because only the person knows. */
export function SomebodyMovedIt({ its, positions }: { its: Standing; positions: readonly Position[] }) {
  const place = useSignal('')
  const { labware_id, name, barcode, thread_id, position } = its
  // Labware that is not on the deck yet cannot be moved.
  if (thread_id !== null && position === null) return null
  // Labware that may be in a gripper may also still stand at the position of the pick.
  const isFree = ({ labware }: Position) => !labware || labware.labware_id === labware_id
  const free = positions.filter(isFree).map(({ name }) => name)
  const to = free.includes(place.value) || place.value === 'off' ? place.value : ''
  return (
    <details>
      <summary>Somebody moved it</summary>
      <div class="fields">
        <Choice
          label={`New position of ${barcode ?? name}`}
          value={to}
          onChange={(value) => (place.value = value)}
          choices={{ '': 'Choose', ...namesOf(free), off: 'off the bench' }}
        />
        <Act
          label="Save"
          kind="main"
          why={to ? undefined : 'Choose its new position first.'}
          onPress={() => ask('relocateLabware', { path: { labware_id }, body: { position: to === 'off' ? null : to } })}
        />
      </div>
    </details>
  )
}

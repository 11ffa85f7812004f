// The other answers to a task for the hands: the labware stands elsewhere, or cannot be carried.

import { useSignal } from '@preact/signals'
import type { Task } from './need.ts'
import { Act, Empty } from './parts.tsx'
import { topology } from './store.tsx'

/** Brings what was just opened into view. */
function inView(its: HTMLElement | null): void {
  its?.scrollIntoView({ block: 'nearest' })
}

type ElsewhereProps = NonNullable<Task['carries']> & { why: string | undefined; onAnswer: (position: string) => unknown }

/** The positions of the bench, the free ones first. */
export function Elsewhere({ labware, labware_id, thread_id, to, why, onAnswer }: ElsewhereProps) {
  const positions = topology.value?.positions.filter(({ name }) => name !== to) ?? []
  const all = positions.map((one) => {
    const other = one.labware && one.labware.labware_id !== labware_id ? `holds ${one.labware.name}` : undefined
    const kept = one.reserved_for && one.reserved_for !== thread_id ? 'reserved' : undefined
    return { name: one.name, taken: other ?? kept, word: one.labware && !other ? 'it stood there' : 'free' }
  })
  if (all.length === 0) return <Empty>No topology is loaded. Load one on the screen Deck.</Empty>
  return (
    <section aria-label={`Where ${labware} stands now`} class="opened" ref={inView}>
      <p>Where does {labware} stand now?</p>
      <div class="row">
        {[...all.filter(({ taken }) => !taken), ...all.filter(({ taken }) => taken)].map(({ name, taken, word }) => (
          <Act
            key={name}
            label={`${name}: ${taken ?? word}`}
            twice={`${labware} stands at ${name}: press again`}
            why={taken ?? why}
            onPress={() => onAnswer(name)}
          />
        ))}
      </div>
    </section>
  )
}

type CannotProps = { labware: string; to: string; why: string | undefined; onAnswer: (reason: string) => unknown }

export function Cannot({ labware, to, why, onAnswer }: CannotProps) {
  const reason = useSignal('')
  // A person with gloves does not type.
  const reasons = ['It is not there', `${to} is not free`, 'It does not fit', 'It is damaged']
  return (
    <section aria-label={`Why ${labware} cannot be carried`} class="opened" ref={inView}>
      <div class="row">
        {reasons.map((one) => (
          <button
            key={one}
            type="button"
            class={reason.value === one ? 'plain open' : 'plain'}
            aria-pressed={reason.value === one}
            onClick={() => (reason.value = one)}
          >
            {one}
          </button>
        ))}
      </div>
      <div class="row">
        <input
          aria-label="Reason"
          placeholder="Reason"
          maxLength={300}
          value={reason.value}
          onInput={(event) => (reason.value = event.currentTarget.value)}
        />
        <Act label={`${labware} cannot be carried`} kind="danger" why={why} onPress={() => onAnswer(reason.value.trim())} />
        <span class="hint">Its thread waits for a decision.</span>
      </div>
    </section>
  )
}

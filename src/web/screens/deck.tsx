// The screen Deck: the positions of the bench with their labware and reservations, and labware that a person has moved.

import { useSignal } from '@preact/signals'
import type { Topology } from '../../clients/ts/benchd.ts'
import { Act, Choice, Empty, useAnswer } from '../parts.tsx'
import { ask, state } from '../store.tsx'
import { deviceWords } from '../words.ts'

export function DeckScreen() {
  const [topology] = Object.values(state.value.topology)
  if (!topology) return <NoTopology />
  const groups = new Map<string, Topology['positions']>()
  for (const position of topology.positions) {
    const where = position.device ?? (position.storage ? 'Storage' : 'Positions')
    groups.set(where, [...(groups.get(where) ?? []), position])
  }
  return (
    <section aria-label="Deck">
      <h2>
        Deck <small>topology {topology.name}</small>
      </h2>
      <div class="deck">
        {topology.transporters.map((one) => (
          <Transporter key={one.device_id} {...one} />
        ))}
        {[...groups].map(([where, positions]) => (
          <section key={where} aria-label={where}>
            <h3>
              {where} <DeviceWord device_id={where} />
            </h3>
            <ul>
              {positions.map(({ name, labware, reserved_for, parking }) => (
                <li key={name} class={labware ? 'taken' : reserved_for ? 'kept' : 'free'}>
                  <strong>{name}</strong>
                  <span>{labware ? labware.name : reserved_for ? 'reserved' : 'free'}</span>
                  <small>
                    {labware?.barcode ?? (parking && !labware ? 'parking' : '')}
                    {reserved_for && ` for ${state.value.thread[reserved_for]?.thread_name ?? 'a thread'}`}
                  </small>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      <Carried topology={topology} />
      <p class="row">
        <Act
          label="Unload topology"
          twice="Unload topology: press again"
          onPress={() => ask('unloadTopology', { body: { force: false } })}
        />
      </p>
    </section>
  )
}

function DeviceWord({ device_id }: { device_id: string }) {
  const device = state.value.device[device_id]
  if (!device) return null
  const { word, mark, tone } = deviceWords[device.state]
  return (
    <small class={`state ${tone}`}>
      <span aria-hidden="true">{mark}</span> {word}
    </small>
  )
}

function Transporter({ device_id, positions }: Topology['transporters'][number]) {
  const held = Object.values(state.value.labware).find(({ held_by }) => held_by === device_id)
  return (
    <section aria-label={device_id}>
      <h3>
        {device_id} <DeviceWord device_id={device_id} />
      </h3>
      <ul>
        <li class={held ? 'taken' : 'free'}>
          <strong>{state.value.device[device_id]?.driver === 'person' ? 'in hands' : 'gripper'}</strong>
          <span>{held ? held.name : 'empty'}</span>
          <small>reaches {positions.length} positions</small>
        </li>
      </ul>
    </section>
  )
}

function Carried({ topology }: { topology: Topology }) {
  // Labware that is not on the deck yet cannot be moved.
  const labware = Object.values(state.value.labware).filter(
    ({ run_mode, thread_id, position }) => run_mode === 'LIVE' && (thread_id === null || position !== null),
  )
  const chosen = useSignal('')
  const place = useSignal('')
  if (labware.length === 0) return <Empty>No labware stands on the bench.</Empty>
  const id = labware.some(({ labware_id }) => labware_id === chosen.value) ? chosen.value : labware[0]!.labware_id
  // Labware that may be in a gripper may also still stand at the position of the pick.
  const isFree = ({ labware: there }: Topology['positions'][number]) => !there || there.labware_id === id
  const free = topology.positions.filter(isFree).map(({ name }) => name)
  const to = free.includes(place.value) || place.value === 'off' ? place.value : (free[0] ?? 'off')
  return (
    <section aria-label="Update the position" class="fields">
      <h3>Update the position</h3>
      <Choice
        label="Labware"
        value={id}
        onChange={(value) => (chosen.value = value)}
        choices={Object.fromEntries(labware.map(({ labware_id, name, place: at }) => [labware_id, `${name} (${at})`]))}
      />
      <Choice
        label="New position"
        value={to}
        onChange={(value) => (place.value = value)}
        choices={{ ...Object.fromEntries(free.map((name) => [name, name])), off: 'off the bench' }}
      />
      <Act
        label="Save"
        kind="main"
        onPress={() => ask('relocateLabware', { path: { labware_id: id }, body: { position: to === 'off' ? null : to } })}
      />
    </section>
  )
}

function NoTopology() {
  const found = useAnswer('listTopologies')
  return (
    <section aria-label="Deck">
      <h2>Deck</h2>
      <Empty>No topology is loaded. Load the one of this bench:</Empty>
      <div class="row">
        {found.value?.topologies.map(({ name }) => (
          <Act key={name} label={`Load ${name}`} onPress={() => ask('loadTopology', { body: { name, force: false } })} />
        ))}
      </div>
    </section>
  )
}

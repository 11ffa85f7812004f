// The screen Teach: the teachpoints of each arm, beside the arm itself and the form of one teachpoint.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Teachpoint } from '../../clients/ts/benchd.ts'
import { Act, Choice, Empty, namesOf, Text, useAnswer } from '../parts.tsx'
import { ask, bench, route, state } from '../store.tsx'
import { Arm } from './teach_arm.tsx'
import { Files } from './teach_files.tsx'
import { Edit, type Gone } from './teach_point.tsx'

export function TeachScreen() {
  // A person needs no teachpoints.
  const robots = Object.values(state.value.device)
    .filter(({ type, driver }) => type === 'transporter' && driver !== 'person')
    .map(({ device_id }) => device_id)
  // The address may name an arm and a teachpoint: `#/teach/arm-1/pad_1`.
  const [, asked = '', point] = route.peek()
  const robot = useSignal(robots.includes(asked) ? asked : (robots[0] ?? ''))
  const points = useSignal<Teachpoint[] | undefined>(undefined)
  const open = useSignal<string | undefined>(point)
  const gone = useSignal<Gone | undefined>(undefined)
  const read = async () => {
    const answer = await bench.value?.call('listTeachpoints', { query: { device_id: robot.value } as never }).catch(() => undefined)
    points.value = answer?.teachpoints.filter(({ device_id }) => device_id === robot.value) ?? []
  }
  useEffect(() => void read(), [robot.value])
  const device = state.value.device[robot.value]
  const isConnected = device?.state !== 'disconnected'
  const described = useAnswer('getDeviceCapabilities', { path: { device_id: robot.value } }, [robot.value, isConnected]).value
  const can = described?.device_id === robot.value ? described : undefined
  if (!device)
    return (
      <section aria-label="Teach">
        <Empty>This bench has no robot, so it has no teachpoints.</Empty>
      </section>
    )
  const chosen = points.value?.find(({ name }) => name === open.value)
  return (
    <section aria-label="Teach">
      <div class="row">
        <h2>Teach</h2>
        <Choice
          label="Robot"
          value={robot.value}
          onChange={(value) => {
            robot.value = value
            open.value = undefined
          }}
          choices={namesOf(robots)}
        />
        {points.value && <Files robot={robot.value} points={points.value} onStored={read} />}
      </div>
      {points.value === undefined ? (
        <Empty>Loading the teachpoints …</Empty>
      ) : (
        <div class="teach">
          <section aria-label="Teachpoints">
            <Names points={points.value} open={open} />
            {gone.value && gone.value.device_id === robot.value && (
              <Deleted its={gone.value} onDone={() => (gone.value = undefined)} onStored={read} />
            )}
            <New
              robot={robot.value}
              names={points.value.map(({ name }) => name)}
              from={chosen ?? points.value[0]}
              onStored={read}
              onCreated={(name) => (open.value = name)}
            />
          </section>
          <div class="work">
            <Arm key={robot.value} device={device} can={can} />
            {chosen ? (
              <Edit key={chosen.name} point={chosen} device={device} can={can} onSaved={read} onGone={(its) => (gone.value = its)} />
            ) : (
              <Empty>
                {points.value.length === 0 ? `${robot.value} has no teachpoints yet.` : 'Choose a teachpoint to see and edit it.'}
              </Empty>
            )}
          </div>
        </div>
      )}
    </section>
  )
}

function Names({ points, open }: { points: readonly Teachpoint[]; open: Signal<string | undefined> }) {
  if (points.length === 0) return null
  return (
    <ul class="list">
      {points.map(({ name }) => (
        <li key={name}>
          <button
            type="button"
            class={open.value === name ? 'plain open' : 'plain'}
            aria-pressed={open.value === name}
            onClick={() => (open.value = name)}
          >
            {name}
          </button>
        </li>
      ))}
    </ul>
  )
}

type DeletedProps = { its: Gone; onDone: () => unknown; onStored: () => Promise<void> }

function Deleted({ its: { version, ...path }, onDone, onStored }: DeletedProps) {
  const restore = async () => {
    if (!(await ask('restoreTeachpoint', { path, body: { version } }))) return
    onDone()
    await onStored()
  }
  return (
    <p>
      {path.name} was deleted. <Act label="Undo" name={`Undo the deletion of ${path.name}`} onPress={restore} />
    </p>
  )
}

const origin = { coord_type: 'cartesian', coords: { x: 0, y: 0, z: 0, yaw: 0, pitch: 0, roll: 0 } } as const

type NewProps = {
  robot: string
  names: readonly string[]
  from: Teachpoint | undefined
  onStored: () => Promise<void>
  onCreated: (name: string) => void
}

/** A form for a new point, which begins at another point or the origin. */
function New({ robot, names, from, onStored, onCreated }: NewProps) {
  const name = useSignal('')
  const wanted = name.value.trim()
  const why = wanted === '' ? 'Enter a name first.' : names.includes(wanted) ? 'A teachpoint of this name exists.' : undefined
  const create = async () => {
    const { coord_type, coords } = from ?? origin
    if (await ask('createTeachpoint', { body: { device_id: robot, name: wanted, coord_type, coords } })) {
      name.value = ''
      await onStored()
      onCreated(wanted)
    }
  }
  return (
    <Text id="new-point" label="New teachpoint" of={name}>
      <Act label={from ? `Create from ${from.name}` : 'Create'} why={why} onPress={create} />
    </Text>
  )
}

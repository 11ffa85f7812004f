// The screen Teach: the teachpoints of each arm, a form for one with the effect of a change, and its history.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ListTeachpointVersionsResponse, Teachpoint } from '../../clients/ts/benchd.ts'
import { Act, Choice, Empty, namesOf, Stepper, Text, useAnswer } from '../parts.tsx'
import { ask, bench, state } from '../store.tsx'
import { clockTime } from '../words.ts'
import { Files } from './teach_files.tsx'

export function TeachScreen() {
  const robots = Object.values(state.value.device)
    .filter(({ type }) => type === 'transporter')
    .map(({ device_id }) => device_id)
  const robot = useSignal(robots[0] ?? '')
  const points = useSignal<Teachpoint[] | undefined>(undefined)
  const open = useSignal<string | undefined>(undefined)
  const gone = useSignal<Gone | undefined>(undefined)
  const read = async () => {
    const answer = await bench.value?.call('listTeachpoints', { query: { device_id: robot.value } as never }).catch(() => undefined)
    points.value = answer?.teachpoints.filter(({ device_id }) => device_id === robot.value) ?? []
  }
  useEffect(() => void read(), [robot.value])
  if (robots.length === 0) return <Empty>This bench has no robot, so it has no teachpoints.</Empty>
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
            {points.value.length > 0 && (
              <ul class="list">
                {points.value.map(({ name }) => (
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
            )}
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
          {chosen ? (
            <Edit key={JSON.stringify(chosen)} point={chosen} onSaved={read} onGone={(its) => (gone.value = its)} />
          ) : (
            <Empty>
              {points.value.length === 0 ? `${robot.value} has no teachpoints yet.` : 'Choose a teachpoint to see and edit it.'}
            </Empty>
          )}
        </div>
      )}
    </section>
  )
}

/** A point that was deleted on this screen, and its last version. */
type Gone = { device_id: string; name: string; version: string }
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

const units: Record<Teachpoint['coord_type'], (name: string) => string> = {
  joint: (name) => (name === 'rail' || name === 'gripper' || name === 'base' ? 'mm or °' : '°'),
  cartesian: (name) => (name.length === 1 ? 'mm' : '°'),
}
/** The size of a change that has to be confirmed, because it may be a mistake. */
const far = 5
const steps = ['0.1', '1', '10']

type EditProps = { point: Teachpoint; onSaved: () => Promise<void>; onGone: (its: Gone) => void }

function Edit({ point, onSaved, onGone }: EditProps) {
  const coords = point.coords as Record<string, number>
  const values = useSignal<Record<string, string>>(Object.fromEntries(Object.entries(coords).map(([name, value]) => [name, String(value)])))
  const step = useSignal('1')
  const sure = useSignal(false)
  const changes = Object.entries(coords).flatMap(([name, before]) => {
    const after = numberOf(values.value[name])
    return after === before ? [] : [{ name, before, after }]
  })
  const wrong = changes.find(({ after }) => !Number.isFinite(after))
  const isFar = changes.some(({ before, after }) => Math.abs(after - before) > far)
  const path = { device_id: point.device_id, name: point.name }
  const { versions, shown } = useVersions(point)
  const headers = { 'If-Match': `"${shown}"` }
  const set = (name: string, value: string) => {
    values.value = { ...values.value, [name]: value }
    sure.value = false
  }
  const restore = async (version: string) => {
    if (await ask('restoreTeachpoint', { path, body: { version }, headers })) await onSaved()
  }
  const save = async () => {
    if (isFar && !sure.value) {
      sure.value = true
      return
    }
    const body = {
      ...point,
      coords: Object.fromEntries(Object.keys(coords).map((name) => [name, numberOf(values.value[name])])),
    }
    if (await ask('updateTeachpoint', { path, body, headers })) {
      sure.value = false
      await onSaved()
    }
  }
  const its = useRef<HTMLElement>(null)
  useEffect(() => its.current?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <section aria-label={`Teachpoint ${point.name}`} class="edit" ref={its}>
      <h3>{point.name}</h3>
      <Coords point={point} values={values.value} step={Number(step.value)} onChange={set} />
      {wrong && <p class="trouble">{wrong.name} must be a number.</p>}
      {sure.value && (
        <p class="fault">
          The teachpoint would move by more than {far} mm or {far}°. Press “Save” once more if that is right.
        </p>
      )}
      <div class="row">
        <Act
          label="Save"
          kind={sure.value ? 'danger' : 'main'}
          why={whyNot(wrong !== undefined, changes.length, versions !== undefined)}
          onPress={save}
        />
        {point.coord_type === 'cartesian' && <Take device_id={point.device_id} onTaken={set} />}
        <Choice label="Step" of={step} choices={namesOf(steps)} />
        <Act
          label="Delete"
          name={`Delete ${point.name}`}
          twice="Delete: press again"
          kind="quiet"
          onPress={async () => {
            if (!(await ask('deleteTeachpoint', { path }))) return
            onGone({ ...path, version: shown })
            await onSaved()
          }}
        />
      </div>
      <History versions={versions ?? []} onRestore={restore} />
    </section>
  )
}

/** Fetches the versions of a point, and finds the one in the form, so that a concurrent change is not overwritten. */
function useVersions(point: Teachpoint): { versions: Versions | undefined; shown: string } {
  const { device_id, name } = point
  const { versions } = useAnswer('listTeachpointVersions', { path: { device_id, name } }, [point]).value ?? {}
  const same = versions?.find((version) => JSON.stringify(version.point) === JSON.stringify(point))
  // A point that equals no known version was changed meanwhile.
  return { versions, shown: same?.version ?? 'changed' }
}

type CoordsProps = { point: Teachpoint; values: Record<string, string>; step: number; onChange: (name: string, value: string) => void }

/** A field for each coordinate, with the stored value if that differs. */
function Coords({ point, values, step, onChange }: CoordsProps) {
  const nudge = (name: string, by: number) => onChange(name, String(Number((numberOf(values[name]) + by).toFixed(4))))
  return (
    <div class="fields">
      {Object.entries(point.coords as Record<string, number>).map(([name, stored]) => (
        <div class="field" key={name}>
          <label for={`coord-${name}`}>
            {name} ({units[point.coord_type](name)})
          </label>
          <Stepper label={name} onStep={(sign) => nudge(name, sign * step)}>
            <input
              id={`coord-${name}`}
              inputMode="decimal"
              value={values[name] ?? ''}
              onInput={(event) => onChange(name, event.currentTarget.value)}
            />
          </Stepper>
          {numberOf(values[name]) !== stored && <small>was {stored}</small>}
        </div>
      ))}
    </div>
  )
}

/** Parses a number with a decimal comma or point. */
function numberOf(text = ''): number {
  return text.trim() === '' ? Number.NaN : Number(text.replace(',', '.'))
}

/** The button that fills the form with the present position of the arm, if the arm can report it. */
function Take({ device_id, onTaken }: { device_id: string; onTaken: (name: string, value: string) => void }) {
  const can = useAnswer('getDeviceCapabilities', { path: { device_id } }, [device_id])
  if (!can.value?.operations.some(({ name }) => name === 'pose')) return null
  const take = async () => {
    const pose = await ask('getDevicePose', { path: { device_id } })
    for (const [name, value] of Object.entries(pose?.coords ?? {})) onTaken(name, String(value))
  }
  return <Act label="Use position of arm" name={`Use position of ${device_id}`} onPress={take} />
}

function whyNot(isWrong: boolean, changes: number, isRead: boolean): string | undefined {
  if (isWrong) return 'A value is not a number.'
  if (changes === 0) return 'Nothing has changed.'
  return isRead ? undefined : 'Loading the versions of this teachpoint.'
}

type Versions = ListTeachpointVersionsResponse['versions']

/** The versions of a point, the newest first. The first is the present one. */
function History({ versions, onRestore }: { versions: Versions; onRestore: (version: string) => Promise<void> }) {
  const [now, ...earlier] = versions
  const different = earlier.filter(({ version, point }) => point && version !== now?.version)
  if (different.length === 0) return null
  return (
    <section aria-label="History">
      <h4>History</h4>
      <ul class="list">
        {different.map(({ version, at, by, point }, i) => (
          <li key={`${version} ${at}`} class="row">
            <span>
              {Object.entries((point?.coords ?? {}) as Record<string, number>)
                .map(([name, value]) => `${name} ${value}`)
                .join(', ')}
              <small>
                {at === null ? ' before' : ` ${clockTime(at)}`}
                {by === null ? '' : `, ${by}`}
              </small>
            </span>
            <Act
              label={i === 0 ? 'Undo' : 'Restore'}
              name={i === 0 ? 'Undo the last change' : `Restore the version of ${at === null ? 'before' : clockTime(at)}`}
              kind="quiet"
              onPress={() => onRestore(version)}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

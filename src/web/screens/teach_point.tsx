// A teachpoint on the screen Teach: the buttons that need its arm, a form with the effect of a change, and its history.

import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Capabilities, DeviceInfo, ListTeachpointVersionsResponse, Teachpoint } from '../../clients/ts/benchd.ts'
import { obstacleOf } from '../arm_state.ts'
import { Act, Choice, namesOf, Stepper, useAnswer } from '../parts.tsx'
import { ask, ifState, notice, scope } from '../store.tsx'
import { clockTime } from '../words.ts'
import { operationOf } from './teach_arm.tsx'

const units: Record<Teachpoint['coord_type'], (name: string) => string> = {
  joint: (name) => (name === 'rail' || name === 'gripper' || name === 'base' ? 'mm or °' : '°'),
  cartesian: (name) => (name.length === 1 ? 'mm' : '°'),
}
/** The size of a change that has to be confirmed, because it may be a mistake. */
const far = 5
const steps = ['0.1', '1', '10']

/** A point that was deleted on this screen, and its last version. */
export type Gone = { device_id: string; name: string; version: string }

type EditProps = {
  point: Teachpoint
  device: DeviceInfo
  can: Capabilities | undefined
  onSaved: () => Promise<void>
  onGone: (its: Gone) => void
}

/** A teachpoint: the buttons that need its arm, its form, which begins anew with each stored change, and its history. */
export function Edit({ point, device, can, onSaved, onGone }: EditProps) {
  const { versions, shown } = useVersions(point)
  const isEdited = useSignal(false)
  const path = { device_id: point.device_id, name: point.name }
  const headers = { 'If-Match': `"${shown}"` }
  const restore = async (version: string) => {
    if (!(await ask('restoreTeachpoint', { path, body: { version }, headers }))) return
    notice.value = { text: `${point.name} has its earlier position again.`, bad: false }
    await onSaved()
  }
  const store = async (coords: object) => {
    if (!(await ask('updateTeachpoint', { path, body: { ...point, coords }, headers }))) return false
    await onSaved()
    return true
  }
  const remove = async () => {
    if (!(await ask('deleteTeachpoint', { path }))) return
    onGone({ ...path, version: shown })
    await onSaved()
  }
  const [last] = earlierThan(versions)
  const its = useRef<HTMLDivElement>(null)
  useEffect(() => its.current?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <section aria-label={`Teachpoint ${point.name}`} class="edit">
      <div class="row" ref={its}>
        <h3>{point.name}</h3>
        <SaveHere point={point} device={device} can={can} isRead={versions !== undefined} onStore={store} />
        {last && <Act label="Undo" name="Undo the last change" kind="quiet" onPress={() => restore(last.version)} />}
        {operationOf(can, 'go_to') && <TryIt device={device} name={point.name} isEdited={isEdited.value} />}
      </div>
      <Form key={JSON.stringify(point)} point={point} can={can} isRead={versions !== undefined} isEdited={isEdited} onStore={store}>
        <Act label="Delete" name={`Delete ${point.name}`} twice="Delete: press again" kind="quiet" onPress={remove} />
      </Form>
      <History versions={versions ?? []} onRestore={restore} />
    </section>
  )
}

type SaveHereProps = Pick<EditProps, 'point' | 'device' | 'can'> & { isRead: boolean; onStore: (coords: object) => Promise<boolean> }

/** The button that stores the present position of the arm, if the arm can tell it. */
function SaveHere({ point, device, can, isRead, onStore }: SaveHereProps) {
  const { device_id, operation } = device
  if (!operationOf(can, 'pose')) return null
  // A person who leads the arm by hand keeps it where it is to be stored.
  const isMoving = operation !== null && operation.name !== 'free_drive'
  const why = [
    point.coord_type !== 'cartesian' && `${device_id} tells its position in x, y and z, and ${point.name} is stored in joints.`,
    isMoving && `${device_id} moves.`,
    !isRead && loading,
  ].find((one) => one !== false)
  const save = async () => {
    const pose = await ask('getDevicePose', { path: { device_id } })
    if (pose && (await onStore(pose.coords))) notice.value = { text: `${point.name} is now where ${device_id} stands.`, bad: false }
  }
  return <Act label="Save here" name={`Save here: ${point.name}`} kind="main" why={why || undefined} onPress={save} />
}

const heights = { '0': 'at the point', '10': '10 mm above', '50': '50 mm above', '100': '100 mm above' }

/** The button that moves the arm slowly to the stored teachpoint, or above it. */
function TryIt({ device, name, isEdited }: { device: DeviceInfo; name: string; isEdited: boolean }) {
  const { device_id } = device
  const above = useSignal('50')
  const why =
    obstacleOf(device, scope.value)?.why ?? (isEdited ? 'Save the changes first: the arm goes to the stored position.' : undefined)
  const body = { operation: 'go_to', params: { teachpoint: name, offset_z: Number(above.value) } }
  return (
    <>
      <Act
        label="Try it"
        name={`Try it: ${name}`}
        twice={`${device_id} moves: press again`}
        why={why}
        onPress={() => ask('performOperation', { path: { device_id }, body, respondAsync: true, ...ifState(device) })}
      />
      <select aria-label="Where it stops" value={above.value} onChange={(event) => (above.value = event.currentTarget.value)}>
        {Object.entries(heights).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </>
  )
}

type FormProps = {
  point: Teachpoint
  can: Capabilities | undefined
  isRead: boolean
  isEdited: Signal<boolean>
  onStore: (coords: object) => Promise<boolean>
  children: ComponentChildren
}

function Form({ point, can, isRead, isEdited, onStore, children }: FormProps) {
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
  useEffect(() => {
    isEdited.value = changes.length > 0
  }, [changes.length])
  const set = (name: string, value: string) => {
    values.value = { ...values.value, [name]: value }
    sure.value = false
  }
  const save = async () => {
    if (isFar && !sure.value) {
      sure.value = true
      return
    }
    const typed = Object.fromEntries(Object.keys(coords).map((name) => [name, numberOf(values.value[name])]))
    if (await onStore(typed)) sure.value = false
  }
  return (
    <>
      <Coords point={point} values={values.value} step={Number(step.value)} onChange={set} />
      {wrong && <p class="trouble">{wrong.name} must be a number.</p>}
      {sure.value && (
        <p class="fault">
          The teachpoint would move by more than {far} mm or {far}°. Press “Save” once more if that is right.
        </p>
      )}
      <div class="row">
        <Act label="Save" kind={sure.value ? 'danger' : 'main'} why={whyNot(wrong !== undefined, changes.length, isRead)} onPress={save} />
        {point.coord_type === 'cartesian' && operationOf(can, 'pose') && <Take device_id={point.device_id} onTaken={set} />}
        <Choice label="Step" of={step} choices={namesOf(steps)} />
        {children}
      </div>
    </>
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

/** The button that fills the form with the present position of the arm. */
function Take({ device_id, onTaken }: { device_id: string; onTaken: (name: string, value: string) => void }) {
  const take = async () => {
    const pose = await ask('getDevicePose', { path: { device_id } })
    for (const [name, value] of Object.entries(pose?.coords ?? {})) onTaken(name, String(value))
  }
  return <Act label="Use position of arm" name={`Use position of ${device_id}`} onPress={take} />
}

function whyNot(isWrong: boolean, changes: number, isRead: boolean): string | undefined {
  if (isWrong) return 'A value is not a number.'
  if (changes === 0) return 'Nothing has changed.'
  return isRead ? undefined : loading
}

const loading = 'Loading the versions of this teachpoint.'

type Versions = ListTeachpointVersionsResponse['versions']

/** Lists the earlier versions that differ from the present one, the newest first. `versions` has the present one first. */
function earlierThan(versions: Versions = []): Versions {
  const [now, ...earlier] = versions
  return earlier.filter(({ version, point }) => point && version !== now?.version)
}

function History({ versions, onRestore }: { versions: Versions; onRestore: (version: string) => Promise<void> }) {
  const different = earlierThan(versions)
  if (different.length === 0) return null
  return (
    <section aria-label="History">
      <h4>History</h4>
      <ul class="list">
        {different.map(({ version, at, by, point }) => (
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
              label="Restore"
              name={`Restore the version of ${at === null ? 'before' : clockTime(at)}`}
              kind="quiet"
              onPress={() => onRestore(version)}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

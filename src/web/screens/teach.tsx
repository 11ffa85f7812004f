// The teachpoints of the robots: a list for each, a form for one, and what a change would move.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ListTeachpointVersionsResponse, Teachpoint } from '../../clients/ts/benchd.ts'
import { Act, Choice, Empty } from '../parts.tsx'
import { ask, bench, state } from '../store.tsx'
import { clockTime } from '../words.ts'

export function TeachScreen() {
  const robots = Object.values(state.value.device)
    .filter(({ type }) => type === 'transporter')
    .map(({ device_id }) => device_id)
  const robot = useSignal(robots[0] ?? '')
  const points = useSignal<Teachpoint[] | undefined>(undefined)
  const open = useSignal<string | undefined>(undefined)
  const read = async () => {
    const answer = await bench.value?.call('listTeachpoints', { query: { device_id: robot.value } as never }).catch(() => undefined)
    points.value = answer?.teachpoints.filter(({ device_id }) => device_id === robot.value) ?? []
  }
  useEffect(() => void read(), [robot.value])
  if (robots.length === 0) return <Empty>This bench has no robot, so it has no teachpoints.</Empty>
  const chosen = points.value?.find(({ name }) => name === open.value)
  return (
    <section aria-label="Teach">
      <h2>Teach</h2>
      <div class="fields">
        <Choice
          label="Robot"
          value={robot.value}
          onChange={(value) => {
            robot.value = value
            open.value = undefined
          }}
          choices={Object.fromEntries(robots.map((id) => [id, id]))}
        />
      </div>
      {points.value === undefined ? (
        <Empty>The page reads the teachpoints.</Empty>
      ) : points.value.length === 0 ? (
        <Empty>{robot.value} has no teachpoints. Import them: benchd teachpoints import FILE.</Empty>
      ) : (
        <div class="teach">
          <ul class="list" aria-label="Teachpoints">
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
          {chosen ? (
            <Edit key={JSON.stringify(chosen)} point={chosen} onSaved={read} />
          ) : (
            <Empty>Choose a teachpoint to see and edit it.</Empty>
          )}
        </div>
      )}
    </section>
  )
}

const units: Record<Teachpoint['coord_type'], (name: string) => string> = {
  joint: (name) => (name === 'rail' || name === 'gripper' || name === 'base' ? 'mm or °' : '°'),
  cartesian: (name) => (name.length === 1 ? 'mm' : '°'),
}
/** A change by more than this is asked for once more: it may be a slip. */
const far = 5

function Edit({ point, onSaved }: { point: Teachpoint; onSaved: () => Promise<void> }) {
  const coords = point.coords as Record<string, number>
  const values = useSignal<Record<string, string>>(Object.fromEntries(Object.entries(coords).map(([name, value]) => [name, String(value)])))
  const sure = useSignal(false)
  const changes = Object.entries(coords).flatMap(([name, before]) => {
    const after = Number(values.value[name]?.replace(',', '.'))
    return after === before ? [] : [{ name, before, after }]
  })
  const wrong = changes.find(({ after }) => !Number.isFinite(after))
  const isFar = changes.some(({ before, after }) => Math.abs(after - before) > far)
  const path = { device_id: point.device_id, name: point.name }
  const versions = useSignal<Versions | undefined>(undefined)
  const readVersions = () =>
    bench.value?.call('listTeachpointVersions', { path }).then(
      (answer) => {
        versions.value = answer.versions
      },
      () => undefined,
    )
  useEffect(() => void readVersions(), [point])
  // The version that the form shows: whoever was quicker is not written over. What is none of the known versions was changed meanwhile.
  const shown = versions.value?.find((version) => JSON.stringify(version.point) === JSON.stringify(point))?.version ?? 'changed'
  const headers = { 'If-Match': `"${shown}"` }
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
      coords: Object.fromEntries(Object.keys(coords).map((name) => [name, Number(values.value[name]!.replace(',', '.'))])),
    }
    if (await ask('updateTeachpoint', { path, body, headers })) {
      sure.value = false
      await onSaved()
    }
  }
  return (
    <section aria-label={`Teachpoint ${point.name}`} class="fields">
      <h3>{point.name}</h3>
      {Object.keys(coords).map((name) => (
        <div class="field" key={name}>
          <label for={`coord-${name}`}>
            {name} ({units[point.coord_type](name)})
          </label>
          <input
            id={`coord-${name}`}
            inputMode="decimal"
            value={values.value[name] ?? ''}
            onInput={(event) => {
              values.value = { ...values.value, [name]: event.currentTarget.value }
              sure.value = false
            }}
          />
          {changes.some((change) => change.name === name) && <small>was {coords[name]}</small>}
        </div>
      ))}
      {wrong && <p class="trouble">{wrong.name} must be a number.</p>}
      {sure.value && <p class="fault">It would move by more than {far}. Press “Save” once more if that is right.</p>}
      <div class="row">
        <Act
          label="Save"
          kind={sure.value ? 'danger' : 'main'}
          why={whyNot(wrong !== undefined, changes.length, versions.value !== undefined)}
          onPress={save}
        />
      </div>
      <History versions={versions.value ?? []} onRestore={restore} />
    </section>
  )
}

function whyNot(isWrong: boolean, changes: number, isRead: boolean): string | undefined {
  if (isWrong) return 'A value is no number.'
  if (changes === 0) return 'Nothing has changed.'
  return isRead ? undefined : 'The page reads the versions of this teachpoint.'
}

type Versions = ListTeachpointVersionsResponse['versions']

/** The versions of a point, the newest first. The first one is how it is now. */
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
              label={i === 0 ? 'Undo' : 'Go back to this'}
              name={i === 0 ? 'Undo the last change' : `Go back to the version of ${at === null ? 'before' : clockTime(at)}`}
              kind="quiet"
              onPress={() => onRestore(version)}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

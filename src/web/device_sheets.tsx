// The sheets of a device: its menu, and the form of an operation with the presets of the bench.

import { useSignal } from '@preact/signals'
import type { Capabilities, DeviceInfo } from '../clients/ts/benchd.ts'
import { pageOwner } from './arm_state.ts'
import { bodyOf, type Field, fieldsOf, targetsOf } from './fields.ts'
import { titled } from './forms.ts'
import { isSafe } from './needs.ts'
import { asked, type Operation, opened, type Press, presets, readPresets, StopOne, startOperation, usageOf, whyNot } from './operations.tsx'
import { Act, Form, initialOf } from './parts.tsx'
import { Sheet } from './sheet.tsx'
import { ask, refusal, refusalOf, scope, state } from './store.tsx'

type MenuProps = { device: DeviceInfo; operations: readonly Operation[]; press: Press; begin: (operation: Operation) => unknown }

/** More operations than these have a search. */
const mostAtAGlance = 16

/** All that can be done with a device, in a sheet. */
export function Menu({ device, operations, press, begin }: MenuProps) {
  const { device_id, operation: running } = device
  const why = whyNot(device)
  const close = () => {
    opened.value = undefined
  }
  const closing = (act: () => unknown) => () => {
    close()
    return act()
  }
  const searched = useSignal('')
  const isLong = operations.length > mostAtAGlance
  const words = searched.value.toLowerCase()
  const shown = why ? [] : operations.filter(({ name }) => titled(name).toLowerCase().includes(words))
  const others = (
    <>
      {!running && !isSafe(state.value) && <Act label="Initialize" onPress={closing(() => press(asked('initializeDevice', device)))} />}
      {!running && <Lease device={device} />}
      <StopOne device_id={device_id} label={`Stop ${device_id}`} />
    </>
  )
  return (
    <Sheet title={device_id} onClose={close}>
      {isLong && <div class="row">{others}</div>}
      {isLong && !why && (
        <label class="search">
          Search <input type="search" value={searched.value} onInput={(event) => (searched.value = event.currentTarget.value)} />
        </label>
      )}
      <div class="row">
        {shown.map((operation) => (
          <Act key={operation.name} label={titled(operation.name)} onPress={closing(() => begin(operation))} />
        ))}
        {!isLong && others}
      </div>
      {isLong && !why && shown.length === 0 && <p class="hint">No operation has these words in its name.</p>}
      {why && <p class="hint">{why}</p>}
    </Sheet>
  )
}

const lease_s = 3600

function Lease({ device: { device_id, lock } }: { device: DeviceInfo }) {
  const path = { device_id }
  if (lock && lock.expires_at === null) return null
  if (lock) return <Act label="Release" name={`Release ${device_id}`} kind="quiet" onPress={() => ask('releaseDevice', { path })} />
  const isRunOpen = Object.values(state.value.run).some(({ ended_at, run_mode }) => ended_at === null && run_mode === 'LIVE')
  return (
    <Act
      label="Reserve"
      {...(isRunOpen && { twice: 'An open run will wait for it: press again' })}
      name={`Reserve ${device_id}`}
      kind="quiet"
      onPress={() => ask('leaseDevice', { path, body: { owner: pageOwner(scope.value), ttl_s: lease_s } })}
    />
  )
}

type FormProps = { device: DeviceInfo; operation: Operation; limits: Capabilities['limits'] }

export function OperationForm({ device, operation, limits }: FormProps) {
  const { device_id } = device
  const { name } = operation
  const last = usageOf(device_id).find((one) => one.operation === name)?.params
  const fields = fieldsOf(operation, limits, last, targetsOf(device, state.value.reading[device_id]))
  const values = useSignal(initialOf(fields))
  const close = () => {
    opened.value = undefined
  }
  const start = async (typed: Record<string, string>) => {
    const refused = await startOperation(device, name, bodyOf(fields, typed))
    if (refused !== undefined) throw new Error(refused)
    close()
  }
  return (
    <Sheet title={`${titled(name)} · ${device_id}`} onClose={close}>
      <Form prefix={`${device_id}-${name}`} fields={fields} of={values} submit="Start" why={whyNot(device)} onSend={start} />
      {fields.length > 0 && (
        <Presets
          device_id={device_id}
          operation={name}
          typed={() => bodyOf(fields, values.value)}
          onChoose={(params) => {
            values.value = initialOf(fieldsOf(operation, limits, params, bodyOrNone(fields, values.value)))
          }}
        />
      )}
    </Sheet>
  )
}

/** Returns what is typed as far as it is valid: a preset with some of the parameters leaves the others. */
function bodyOrNone(fields: readonly Field[], typed: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      try {
        return Object.entries(bodyOf([field], typed))
      } catch {
        return []
      }
    }),
  )
}

type PresetsProps = {
  device_id: string
  operation: string
  /** Returns the body of what is typed. Throws a sentence for an invalid value. */
  typed: () => Record<string, unknown>
  onChoose: (params: Record<string, unknown>) => void
}

function Presets({ device_id, operation, typed, onChoose }: PresetsProps) {
  const name = useSignal('')
  const trouble = useSignal('')
  const isDeleting = useSignal(false)
  const all = presets.value.filter((one) => one.operation === operation)
  const pathOf = (preset: string) => ({ path: { device_id, operation, preset } })
  const save = async (event: Event) => {
    event.preventDefault()
    try {
      const body = { params: typed() }
      trouble.value = (await refusalOf({ operation: 'putPreset', asked: { ...pathOf(name.value.trim()), body } })) ?? ''
      if (!trouble.value) name.value = ''
      await readPresets(device_id)
    } catch (error) {
      trouble.value = error instanceof Error ? error.message : String(error)
    }
  }
  const remove = async (preset: string) => {
    await ask('deletePreset', pathOf(preset), { quiet: true })
    await readPresets(device_id)
    isDeleting.value = false
  }
  return (
    <section aria-label="Presets" class="presets">
      {all.length > 0 && (
        <div class="row">
          {all.map(({ name, params }) =>
            isDeleting.value ? (
              <Act key={name} label={`Delete ${name}`} kind="danger" onPress={() => remove(name)} />
            ) : (
              <button key={name} type="button" class="plain" onClick={() => onChoose(params)}>
                {name}
              </button>
            ),
          )}
          <button type="button" class="quiet" aria-pressed={isDeleting.value} onClick={() => (isDeleting.value = !isDeleting.value)}>
            {isDeleting.value ? 'Cancel' : 'Delete a preset'}
          </button>
        </div>
      )}
      <form class="row" onSubmit={save}>
        <input
          aria-label="Name of the preset"
          placeholder="Name of a preset"
          maxLength={128}
          autocomplete="off"
          value={name.value}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
        <button type="submit" class="plain" disabled={!name.value.trim() || refusal.value !== undefined} title={refusal.value}>
          Save preset
        </button>
        <p class="trouble" role="alert">
          {trouble}
        </p>
      </form>
    </section>
  )
}

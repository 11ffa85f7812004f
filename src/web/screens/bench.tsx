// The screen Bench: a card for each device with its state, and a form for each of its operations.

import { type Signal, signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Capabilities, DeviceInfo, GetDeviceWireResponse } from '../../clients/ts/benchd.ts'
import { pageOwner } from '../arm_state.ts'
import { Cameras } from '../cameras.tsx'
import { init } from '../command_here.tsx'
import { bodyOf, fieldsOf, takesNull, titled } from '../forms.ts'
import { needsInitializing, uninitialized } from '../needs.ts'
import { Act, devicesMayMove, Form } from '../parts.tsx'
import { Readings } from '../sparkline.tsx'
import { ask, bench, ends, ifState, isAllSimulated, isSilent, mayAdminister, now, refusal, scope, state, ticks } from '../store.tsx'
import { clockMinutes, clockTime, deviceWords, duration, heatingWords, onPage, sentence, stopText } from '../words.ts'

/** The capabilities of each device that were fetched. */
const capabilities = signal<Record<string, Capabilities>>({})
/** The last parameters by device and operation. */
const lastParams = signal<Record<string, Record<string, unknown>>>({})
/** Operations with buttons of their own on each card. Those that are held have theirs on the screen Teach. */
const withoutForm = new Set(['initialize', 'stop'])
/** States that last until a person initializes the device. */
const latched = new Set(['faulted', 'stopped'])

export function BenchScreen() {
  const all = Object.values(state.value.device)
  if (all.length === 0)
    return (
      <section class="first-steps" aria-label="First steps">
        <h2>No device is configured yet</h2>
        <ol>
          <li>Plug the instruments into the computer of the bench.</li>
          {mayAdminister.value && (
            <li>
              <a class="button main" href="#/bench/add">
                Add a device
              </a>
            </li>
          )}
          <li>
            {mayAdminister.value ? 'Or type' : 'Type'} there: <code>{init}</code> It asks what is on each port and who carries labware, and
            writes the configuration.
          </li>
          <li>Come back to this page: it shows the devices.</li>
        </ol>
      </section>
    )
  return (
    <>
      <InitializeAll />
      <section class="cards" aria-label="Devices">
        {all.map((device) => (
          <DeviceCard key={device.device_id} device={device} />
        ))}
      </section>
      <Cameras />
    </>
  )
}

/** Initializes several devices one after the other until one fails. A stop makes the present one fail, so that nothing moves after it. */
function InitializeAll() {
  const all = uninitialized(state.value)
  const initialize = async () => {
    for (const device of all) {
      const answer = await ask('initializeDevice', { path: { device_id: device.device_id }, body: {}, ...ifState(device) })
      if (!answer?.success || refusal.value) return
    }
  }
  if (all.length < 2) return null
  return (
    <div class="row actions">
      <Act label="Initialize all" twice={devicesMayMove} kind="main" onPress={initialize} />
      <span class="hint">{all.length} devices, one after the other, until one fails.</span>
    </div>
  )
}

function DeviceCard({ device }: { device: DeviceInfo }) {
  const { device_id, name, state: its, simulated, fault, lock, stopped, may_still_be_on, heating } = device
  const open = useSignal<string | undefined>(undefined)
  const can = useCapabilities(device_id)
  const { word, mark, tone } = deviceWords[its]
  const forms =
    can?.operations.filter(({ name, method, renewed_within_ms }) => method === 'POST' && !withoutForm.has(name) && !renewed_within_ms) ?? []
  const titleId = `device-${device_id}`
  return (
    <article class={`card ${tone}${isSilent(device) ? ' silent' : ''}`} aria-labelledby={titleId}>
      <header>
        <h2 id={titleId}>{device_id}</h2>
        <p class={`state ${tone}`}>
          <span aria-hidden="true">{mark}</span> <span>{word}</span>
        </p>
      </header>
      <Progress device={device}>
        {lock && <span class="mark">{reservedBy(lock)}</span>}
        {can && name !== can.model ? `${name} · ${can.model}` : name}
        {simulated && !isAllSimulated.value && ' · simulated'}
      </Progress>
      {can?.features['uninterruptible'] && (
        <p class="hint">A stop does not end a running operation of this device: use its own red button.</p>
      )}
      {heating && <p class="hint">{heatingWords(heating)}</p>}
      <Readings device_id={device_id} />
      {isDescribed(device, can) && <Values key={device.last_operation!.operation_id} operation_id={device.last_operation!.operation_id} />}
      {isSilent(device) && (
        <p class="fault">The device has not answered for {duration(state.value.time - device.heard_at!)}. Its state may be old.</p>
      )}
      {may_still_be_on && <p class="fault">The device may still be on: use its red button, or check that it stands still and is cold.</p>}
      {stopped && (
        <p class="fault">
          Stopped{stopText(stopped, now.value / 1000)}
          {stopped.again && `; again${stopText(stopped.again, now.value / 1000)}`}.
        </p>
      )}
      {fault && fault.error_type !== 'Stopped' && (
        <div class="fault long">
          {sentence(fault.error)} <small>{clockTime(fault.since, now.value / 1000)}</small>
          <LastWords device_id={device_id} />
        </div>
      )}
      {its !== 'external' && <Buttons device={device} can={can} operations={forms.map(({ name }) => name)} open={open} />}
      {forms
        .filter(({ name }) => name === open.value)
        .map((operation) => (
          <OperationForm key={operation.name} device={device} operation={operation} limits={can!.limits} />
        ))}
    </article>
  )
}

/** Returns the capabilities of the device, once it has described them. */
function useCapabilities(device_id: string): Capabilities | undefined {
  const can = capabilities.value[device_id]
  useEffect(() => {
    if (can) return
    bench.value?.call('getDeviceCapabilities', { path: { device_id } }).then(
      (found) => {
        capabilities.value = { ...capabilities.value, [device_id]: found }
      },
      () => undefined,
    )
  }, [can, device_id])
  return can
}

/** Returns why an operation cannot be started; undefined if it can. */
function whyNot(device: DeviceInfo): string | undefined {
  if (device.state === 'busy') return 'The device is busy.'
  return needsInitializing(device) ? 'Initialize the device first.' : undefined
}

type ButtonsProps = { device: DeviceInfo; can: Capabilities | undefined; operations: readonly string[]; open: Signal<string | undefined> }

function Buttons({ device, can, operations, open }: ButtonsProps) {
  const { device_id, state: its, operation } = device
  const canEnd = can?.operations.some(({ name, can_end_early }) => name === operation?.name && can_end_early)
  const path = { device_id }
  const isNext = needsInitializing(device)
  // A device with a fault can be initialized, which clears an error of the instrument itself.
  const why = its === 'busy' ? 'The device is busy.' : undefined
  return (
    <div class="row actions">
      <Act
        label="Initialize"
        kind={isNext ? 'main' : undefined}
        onPress={() => ask('initializeDevice', { path, body: {}, ...ifState(device) })}
        why={why}
      />
      <button
        type="button"
        class="danger"
        onPointerDown={() => void stopOne(device_id)}
        onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && void stopOne(device_id)}
      >
        Stop
      </button>
      {(its === 'faulted' || (device.may_still_be_on && can?.features['uninterruptible'])) && (
        <Act label="Clear fault" kind="main" onPress={() => ask('clearDeviceFault', { path, body: {}, ...ifState(device) })} />
      )}
      {device.driver === 'bridge' && latched.has(its) && (
        <Act
          label="Accept"
          name={`Accept the new description of ${device_id}`}
          twice="Accept the new description: press again"
          kind="quiet"
          onPress={() => ask('acceptDescription', { path, body: {} })}
        />
      )}
      <HeatOff device={device} can={can} />
      {operations.map((name) => (
        <button
          key={name}
          type="button"
          class={open.value === name ? 'plain open' : 'plain'}
          aria-expanded={open.value === name}
          onClick={() => {
            open.value = open.value === name ? undefined : name
          }}
        >
          {titled(name)}
        </button>
      ))}
      {operation && canEnd ? <EndEarly operation={operation} /> : !operation && <Lease device={device} />}
    </div>
  )
}

/** The button that only switches the heat off, and latches nothing. */
function HeatOff({ device, can }: Omit<ButtonsProps, 'operations' | 'open'>) {
  const { device_id, heating } = device
  const operation = can?.operations.find(({ name }) => name === 'set_temperature')
  const isOn = heating ? !heating.is_lowest : (state.value.reading[device_id]?.target ?? null) !== null
  if (!isOn || !operation || !takesNull(operation, 'temperature')) return null
  const wish = { operation: operation.name, params: { temperature: null } }
  const switchOff = () => ask('performOperation', { path: { device_id }, body: wish, respondAsync: true, ...ifState(device) })
  return <Act label="Switch heat off" name={`Switch heat off: ${device_id}`} why={whyNot(device)} onPress={switchOff} />
}

type OperationProps = { device: DeviceInfo; operation: Capabilities['operations'][number]; limits: Capabilities['limits'] }

function OperationForm({ device, operation, limits }: OperationProps) {
  const { device_id } = device
  const key = `${device_id} ${operation.name}`
  const fields = fieldsOf(operation, limits, lastParams.value[key] ?? {})
  const start = async (values: Record<string, string>) => {
    const body = bodyOf(fields, values)
    lastParams.value = { ...lastParams.value, [key]: body }
    const wish = { operation: operation.name, params: body }
    await ask('performOperation', { path: { device_id }, body: wish, respondAsync: true, ...ifState(device) })
  }
  const its = useRef<HTMLDivElement>(null)
  // Keeps its Start button in view on a low screen.
  useEffect(() => its.current?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <div class="opened" ref={its}>
      <Form prefix={`${device_id}-${operation.name}`} fields={fields} submit="Start" why={whyNot(device)} onSend={start} />
    </div>
  )
}

function stopOne(device_id: string): Promise<unknown> {
  return ask('stopDevice', { path: { device_id } })
}

type ProgressProps = { device: DeviceInfo; children: ComponentChildren }

/** Shows the running operation with the time left; else the state of the device and the outcome of its last operation. */
function Progress({ device: { device_id, operation, last_operation, fault }, children }: ProgressProps) {
  if (!operation) {
    const said = fault ? undefined : (last_operation?.result?.message ?? last_operation?.detail)
    const last = said?.replace(`${device_id}: `, '').replace(`${device_id} `, '')
    return (
      <p class="hint one-line" title={last}>
        {children}
        {last && ` · ${onPage(last)}`}
      </p>
    )
  }
  const end = ends.value[operation.operation_id] ?? ticks.value
  const left = Math.max(0, (end - ticks.value) / 1000)
  const whole = Math.max(1, now.value / 1000 + left - operation.started)
  const done = operation.progress?.fraction ?? Math.min(1, Math.max(0, 1 - left / whole))
  return (
    <>
      <p class="progress">
        <strong>{titled(operation.name)}</strong> {operation.ending ? 'ends early' : left > 0 ? `${duration(left)} left` : 'should end now'}
        <progress max="1" value={done} aria-label={`${titled(operation.name)}, part that is done`} />
      </p>
      {operation.progress?.message && <p class="hint long">{operation.progress.message}</p>}
      {operation.notice && !operation.ending && <p class="hint">{onPage(operation.notice)}</p>}
    </>
  )
}

/** The wire log before the fault, fetched on request. */
function LastWords({ device_id }: { device_id: string }) {
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

/** Whether its last operation is one that a bridge has described, and so may have values. */
function isDescribed({ last_operation: last, operation }: DeviceInfo, can: Capabilities | undefined): boolean {
  const its = can?.operations.find(({ name }) => name === last?.operation)
  return operation === null && last?.result?.success === true && its?.summary !== undefined
}

/** The values of an operation, fetched on request. */
function Values({ operation_id }: { operation_id: string }) {
  const values = useSignal('')
  const read = async () => {
    const record = await bench.value?.call('getOperation', { path: { operation_id } }).catch(() => undefined)
    values.value = record?.data === undefined ? 'The operation returned no values.' : JSON.stringify(record.data, null, 2)
  }
  return (
    <details onToggle={(event) => event.currentTarget.open && void read()}>
      <summary>Values of the last operation</summary>
      <pre class="long">{values.value}</pre>
    </details>
  )
}

function reservedBy({ owner, expires_at }: NonNullable<DeviceInfo['lock']>): string {
  const [, run] = /^execution (\S{8})/.exec(owner) ?? []
  if (run) return 'in a run · '
  return `reserved by ${owner}${expires_at ? ` until ${clockMinutes(expires_at, now.value / 1000)}` : ''} · `
}

/** The button for an early end, which latches nothing. */
function EndEarly({ operation: { operation_id, name, ending } }: { operation: NonNullable<DeviceInfo['operation']> }) {
  const end = () => ask('endOperation', { path: { operation_id } })
  const why = ending ? 'The operation is ending.' : undefined
  return <Act label="End early" name={`End early: ${titled(name)}`} kind="quiet" why={why} onPress={end} />
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

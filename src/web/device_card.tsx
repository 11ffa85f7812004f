// The card of a device: its state, what it does now, its temperature, the last outcome with the next step, and the usual operations.

import { useSignal } from '@preact/signals'
import type { Capabilities, DeviceInfo } from '../clients/ts/benchd.ts'
import { mostUsedFirst, remedyIn, takesNull, titled } from './forms.ts'
import { KindIcon } from './kind_icon.tsx'
import { LaterScreen, more } from './later.tsx'
import { MorePart } from './more_part.tsx'
import { isSafe, needsInitializing, screenOf } from './needs.ts'
import {
  asked,
  capabilities,
  type Operation,
  opened,
  openForm,
  type Press,
  StopOne,
  startable,
  startOperation,
  usageOf,
  whyNot,
} from './operations.tsx'
import { Act } from './parts.tsx'
import { Readings, secondsTo } from './sparkline.tsx'
import { filledWords } from './storage.ts'
import { ask, ends, isAllSimulated, isSilent, now, state, storageOf, ticks } from './store.tsx'
import { Time } from './time.tsx'
import {
  clockMinutes,
  deviceWords,
  duration,
  heatingPhase,
  heatingWords,
  onPage,
  outcomeOf,
  partWords,
  sentence,
  stopText,
} from './words.ts'

/** The operations that are buttons on a card; the others are in its menu. */
const inFront = 3
/** States that last until a person initializes the device. */
const latched = new Set(['faulted', 'stopped'])

type CardProps = { device: DeviceInfo; can: Capabilities | undefined }

export function DeviceCard({ device }: { device: DeviceInfo }) {
  const { device_id, name, state: its } = device
  const can = capabilities.value[device_id]
  const { word, mark, tone } = deviceWords[its]
  const titleId = `device-${device_id}`
  // Without a name of its own a device is called by its id.
  const model = [...new Set([name, can?.model])].filter((words) => words && words !== device_id).join(' · ')
  return (
    <article class={`card ${tone}${isSilent(device) ? ' silent' : ''}`} aria-labelledby={titleId}>
      <header>
        <KindIcon device={device} />
        <a href={screenOf(device_id)}>
          <h2 id={titleId}>{device_id}</h2>{' '}
          <span class={`state ${tone}`}>
            <span aria-hidden="true">{mark}</span> <span>{word}</span>
          </span>{' '}
          <small>{model}</small>
        </a>
        {its !== 'external' && <StopOne device_id={device_id} label="Stop" />}
      </header>
      <Progress device={device} />
      <div class="row">
        <Readings device_id={device_id} />
        <Badges device={device} />
      </div>
      <Notes device={device} can={can} />
      {its !== 'external' && <Controls device={device} can={can} />}
    </article>
  )
}

function Badges({ device }: { device: DeviceInfo }) {
  const { lock, simulated } = device
  const storage = storageOf(device.device_id)
  const all = [
    ...(storage ? [`${filledWords(storage)} slots taken`] : []),
    ...partWords(device),
    ...(lock ? [reservedBy(lock)] : []),
    ...(simulated && !isAllSimulated.value ? ['simulated'] : []),
  ]
  if (all.length === 0) return null
  return (
    <ul class="badges">
      {all.map((words) => (
        <li key={words}>{words}</li>
      ))}
    </ul>
  )
}

/** The running operation with its phase, its progress and the time left. */
function Progress({ device }: { device: DeviceInfo }) {
  const { device_id, operation } = device
  if (!operation) return null
  const phase = heatingPhase(device, state.value.reading[device_id])
  const end = ends.value[operation.operation_id] ?? ticks.value
  const heating_s = phase ? secondsTo(device.heating?.target, device_id) : 0
  const left = Math.max(0, heating_s, (end - ticks.value) / 1000)
  const whole = Math.max(1, now.value / 1000 + left - operation.started)
  const done = operation.progress?.fraction ?? Math.min(1, Math.max(0, 1 - left / whole))
  const time = operation.ending ? 'ends early' : phase && !heating_s ? '' : left > 0 ? `about ${duration(left)} left` : 'should end now'
  return (
    <>
      <p class="progress">
        <strong>{titled(operation.name)}</strong> {[phase, time].filter(Boolean).join(', ')}
        <progress max="1" value={done} aria-label={`${titled(operation.name)}, part that is done`} />
      </p>
      {operation.progress?.message && <p class="hint long">{operation.progress.message}</p>}
      {operation.notice && !operation.ending && <p class="hint">{onPage(operation.notice)}</p>}
    </>
  )
}

/** The lines that a person must know besides: heat, silence, a stop, a fault, and the outcome of the last operation. */
function Notes({ device, can }: CardProps) {
  const { device_id, operation, fault, stopped, heating, may_still_be_on, last_operation, unfit } = device
  // What the stop or the fault has ended is told with it; what began afterwards is told too.
  const since = stopped?.again?.at ?? stopped?.at ?? fault?.since ?? 0
  const outcome = operation || (last_operation?.started ?? 0) < since ? undefined : outcomeOf(device)
  const at = (seconds: number) => <Time at={seconds} now={now.value / 1000} />
  return (
    <>
      {can?.features['uninterruptible'] && (
        <p class="hint">A stop does not end a running operation of this device: use its own red button.</p>
      )}
      {unfit && <p class="hint">No LIVE run may use this device: {unfit.split(';')[0]}.</p>}
      {heating && !operation && (heating.is_lowest || state.value.reading[device_id]?.target !== heating.target) && (
        <p class="hint">{heatingWords(heating)}</p>
      )}
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
          {sentence(fault.error)} <small>{at(fault.since)}</small>
          <MorePart show={({ LastWords }) => <LastWords device_id={device_id} />} />
        </div>
      )}
      {outcome && (
        <p class={outcome.isBad ? 'fault long' : 'hint long'}>
          {outcome.text} <small>{at(outcome.at)}</small>
        </p>
      )}
      {last_operation && isDescribed(device, can) && (
        <MorePart show={({ Values }) => <Values key={last_operation.operation_id} operation_id={last_operation.operation_id} />} />
      )}
    </>
  )
}

/** Whether its last operation is one that a bridge has described, and so may have values. */
function isDescribed({ last_operation: last, operation }: DeviceInfo, can: Capabilities | undefined): boolean {
  const its = can?.operations.find(({ name }) => name === last?.operation)
  return operation === null && last?.result?.success === true && its?.summary !== undefined
}

/** The buttons of a card, with the sentence of a request that the service has refused, and the sheet that one of them has opened. */
function Controls({ device, can }: CardProps) {
  const { device_id, operation: running, last_operation, state: its, fault } = device
  const refused = useSignal<{ text: string; shown: string } | undefined>(undefined)
  /** The refusal is shown until the device is not any more as it was. */
  const shown = `${its} ${running?.operation_id} ${last_operation?.operation_id} ${fault?.since}`
  const press = async (request: Promise<string | undefined>) => {
    refused.value = undefined
    const text = await request
    refused.value = text === undefined ? undefined : { text, shown }
  }
  const isRefused = refused.value?.shown === shown
  const operations = mostUsedFirst(startable(can), usageOf(device_id))
  const isFree = whyNot(device) === undefined
  // The button is not disabled while its form is fetched: it gets the focus back.
  const begin = (operation: Operation) =>
    hasFields(operation) ? void openForm(device_id, operation.name) : press(startOperation(device, operation.name, {}))
  const outcome = outcomeOf(device)
  const remedy = isFree && !running && outcome?.isBad ? remedyIn(`${last_operation?.detail}`, operations) : undefined
  const useful = operations.filter((one) => one !== remedy && !isDone(one, device))
  const front = isFree ? useful.slice(0, remedy ? inFront - 1 : inFront) : []
  const { device_id: openId, operation: openName } = opened.value ?? {}
  const form = openId === device_id ? operations.find(({ name }) => name === openName) : undefined
  return (
    <>
      {isRefused && (
        <p class="fault long" role="alert">
          {refused.value?.text}
        </p>
      )}
      <div class="row actions">
        <NextSteps device={device} can={can} press={press} />
        {remedy && <Act label={titled(remedy.name)} kind="main" onPress={() => begin(remedy)} />}
        {front.map((operation) => (
          <Act key={operation.name} label={titled(operation.name)} onPress={() => begin(operation)} />
        ))}
        <HeatOff device={device} can={can} press={press} />
        {running && can?.operations.some(({ name, can_end_early }) => name === running.name && can_end_early) && (
          <EndEarly operation={running} />
        )}
        <button
          type="button"
          aria-label={`More of ${device_id}`}
          aria-expanded={openId === device_id && !openName}
          onClick={() => (opened.value = { device_id })}
        >
          More
        </button>
      </div>
      {openId === device_id && !openName && (
        <LaterScreen of={more} show={({ Menu }) => <Menu {...{ device, operations, press, begin }} />} />
      )}
      {form && (
        <LaterScreen
          of={more}
          show={({ OperationForm }) => <OperationForm key={form.name} device={device} operation={form} limits={can!.limits} />}
        />
      )}
    </>
  )
}

/** The state of a part in which an operation would do nothing. */
const ends_in: Record<string, string> = { lock_plate: 'locked', unlock_plate: 'unlocked', open: 'open', close: 'closed' }

/** Whether the device is already as the operation would leave it. */
function isDone({ name }: Operation, { parts }: DeviceInfo): boolean {
  const state = ends_in[name]
  return state !== undefined && Object.values(parts).some((its) => its === state)
}

function hasFields({ params }: Operation): boolean {
  return Object.keys((params as { properties?: object }).properties ?? {}).length > 0
}

/** The buttons that make a device usable that is not initialized, was stopped or has a fault. */
function NextSteps({ device, can, press }: CardProps & { press: Press }) {
  const { device_id, state: its } = device
  const isNext = (needsInitializing(device) || its === 'faulted') && !isSafe(state.value)
  return (
    <>
      {isNext && <Act label="Initialize" kind="main" onPress={() => press(asked('initializeDevice', device))} />}
      {(its === 'faulted' || (device.may_still_be_on && can?.features['uninterruptible'])) && (
        <Act label="Clear fault" kind={isNext ? 'plain' : 'main'} onPress={() => press(asked('clearDeviceFault', device))} />
      )}
      {device.driver === 'bridge' && latched.has(its) && (
        <Act
          label="Accept"
          name={`Accept the new description of ${device_id}`}
          twice="Accept the new description: press again"
          kind="quiet"
          onPress={() => ask('acceptDescription', { path: { device_id }, body: {} })}
        />
      )}
    </>
  )
}

/** The button that only switches the heat off, and latches nothing. */
function HeatOff({ device, can, press }: CardProps & { press: Press }) {
  const { device_id, heating } = device
  const operation = can?.operations.find(({ name }) => name === 'set_temperature')
  const isOn = heating ? !heating.is_lowest : (state.value.reading[device_id]?.target ?? null) !== null
  if (!isOn || !operation || !takesNull(operation, 'temperature') || whyNot(device)) return null
  const switchOff = () => press(startOperation(device, operation.name, { temperature: null }))
  return <Act label="Switch heat off" name={`Switch heat off: ${device_id}`} onPress={switchOff} />
}

function reservedBy({ owner, expires_at }: NonNullable<DeviceInfo['lock']>): string {
  const [, run] = /^execution (\S{8})/.exec(owner) ?? []
  return run ? 'in a run' : `reserved by ${owner}${expires_at ? ` until ${clockMinutes(expires_at, now.value / 1000)}` : ''}`
}

/** The button for an early end, which latches nothing. */
function EndEarly({ operation: { operation_id, name, ending } }: { operation: NonNullable<DeviceInfo['operation']> }) {
  const end = () => ask('endOperation', { path: { operation_id } })
  const why = ending ? 'The operation is ending.' : undefined
  return <Act label="End early" name={`End early: ${titled(name)}`} kind="quiet" why={why} onPress={end} />
}

// The screen of a device: charts of its readings, what it did, what it can do, and its wire log.

import { useSignal } from '@preact/signals'
import type { Capabilities, DeviceInfo } from '../../clients/ts/benchd.ts'
import { DeviceCard } from '../device_card.tsx'
import { titled } from '../forms.ts'
import { Act, Block, Empty, ShowAll, useAnswer } from '../parts.tsx'
import { ask, mayAdminister, now, state } from '../store.tsx'
import { authorText, clockTime, duration, sentence } from '../words.ts'
import { DeviceCharts, type Operation } from './device_charts.tsx'
import { NoteAndPhoto } from './device_note.tsx'
import { Inventory } from './inventory.tsx'

export function DeviceScreen({ device_id }: { device_id: string }) {
  const device = state.value.device[device_id]
  const path = { device_id }
  const last = `${device?.operation?.operation_id} ${device?.last_operation?.operation_id} ${device?.last_operation?.status}`
  const operations = useAnswer('listOperations', { query: { device_id, limit: mostOperations } }, [device_id, last])
  const can = useAnswer('getDeviceCapabilities', { path }, [device_id, device?.identity?.model])
  if (!device)
    return (
      <section aria-label="Device">
        <Empty>
          There is no device {device_id} on this bench. <a href="#/bench">All devices</a>
        </Empty>
      </section>
    )
  return (
    <section class="device" aria-label={`Device ${device_id}`}>
      <a class="button quiet" href="#/bench">
        All devices
      </a>
      <DeviceCard device={device} />
      {can.value?.features['host_watchdog'] && device.fault && (
        <p class="hint">
          This instrument switches itself off when it hears nothing. So it is asked for no reading before it is initialized again: see
          yourself whether it is hot.
        </p>
      )}
      {device.type === 'storage' && <Inventory device={device} />}
      <div class="beside">
        <section>
          <DeviceCharts device_id={device_id} operations={operations.value?.operations ?? []} />
          <Done operations={operations.value?.operations ?? []} />
        </section>
        <section>
          {can.value && <Abilities device={device} can={can.value} />}
          <NoteAndPhoto device_id={device_id} />
          {device.state !== 'external' && <WireLog device_id={device_id} />}
          {mayAdminister.value && <Findings device_id={device_id} />}
        </section>
      </div>
    </section>
  )
}

const mostOperations = 200
const shownOperations = 10

/** The operations of the last day, each with the one who asked for it. */
function Done({ operations }: { operations: readonly Operation[] }) {
  const showsAll = useSignal(false)
  const shown = showsAll.value ? operations : operations.slice(0, shownOperations)
  return (
    <Block title="Operations">
      {operations.length === 0 && <Empty>This device has done nothing in the last day.</Empty>}
      <ul class="list" aria-label="Operations of the last day">
        {shown.map((one) => (
          <li key={one.operation_id}>
            <span class={one.result?.success === false ? 'bad' : undefined}>{sentence(one.text)}</span>
            <small>
              {clockTime(one.started, now.value / 1000)}
              {one.ended !== null && one.ended - one.started >= 1 && `, ${duration(one.ended - one.started)}`} · <Asker operation={one} />
            </small>
          </li>
        ))}
      </ul>
      <ShowAll of={showsAll} rest={operations.length - shown.length} />
    </Block>
  )
}

function Asker({ operation: { execution_id, by_name, operator } }: { operation: Operation }) {
  if (!execution_id) return <>by {authorText(by_name ?? 'a key that is gone', operator)}</>
  const run = state.value.run[execution_id]
  return <a href={`#/runs/${execution_id}`}>{run ? `run of ${run.workflow_name}` : `run ${execution_id.slice(0, 8)}`}</a>
}

const featureWords: Record<string, string> = {
  locking: 'It locks the plate.',
  heating: 'It heats.',
  cooling: 'It cools.',
  climate: 'It keeps the climate of its chamber by itself, also after a stop.',
  door: 'It has a door or a lid.',
  host_watchdog: 'It switches itself off when the service is gone.',
  autonomous_timer: 'It ends a timed operation by itself, also without the service.',
  uninterruptible: 'A stop does not end a motion that has begun: use its own red button.',
}

/** Limits and features in words. */
function Abilities({ device, can }: { device: DeviceInfo; can: Capabilities }) {
  const { model = null, serial_number = null, firmware_version = null } = device.identity ?? {}
  const features = Object.keys(can.features).filter((name) => can.features[name])
  const rows: [string, string][] = [
    ['Model', [can.model, ...(model && model !== can.model ? [`reports ${model}`] : [])].join(', ')],
    ...(serial_number ? [['Serial number', serial_number] as [string, string]] : []),
    ...(firmware_version ? [['Firmware', firmware_version] as [string, string]] : []),
    ['Driver', can.driver],
    ...Object.entries(can.limits).map(([name, { min, max, unit, step }]): [string, string] => [
      titled(name),
      `${min} to ${max}${unit && ` ${unit}`}${step ? `, in steps of ${step}${unit && ` ${unit}`}` : ''}`,
    ]),
    [
      'Operations',
      can.operations
        .filter(({ method }) => method === 'POST')
        .map(({ name }) => titled(name).toLowerCase())
        .join(', '),
    ],
  ]
  return (
    <Block title="Capabilities">
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="long">{value}</dd>
          </div>
        ))}
      </dl>
      {features.length > 0 && <p>{features.map((name) => featureWords[name] ?? `${titled(name)}.`).join(' ')}</p>}
      {device.unfit && <p>No LIVE run may use this device: {device.unfit}.</p>}
      <p class="hint">{can.safety}</p>
    </Block>
  )
}

/** The newest frames between the service and the instrument, fetched on request. */
function WireLog({ device_id }: { device_id: string }) {
  const isOpen = useSignal(false)
  const wire = useAnswer('getDeviceWire', { path: { device_id } }, [isOpen.value])
  const lists: [string, NonNullable<typeof wire.value>['frames']][] = [
    ['The newest messages', wire.value?.frames ?? []],
    ['Before the fault', wire.value?.fault_frames ?? []],
  ]
  return (
    <Block title="Wire log">
      <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary>Messages between the service and the device</summary>
        <Act label="Refresh" name="Refresh the wire log" free onPress={wire.read} />
        {lists.map(([title, frames]) =>
          frames.length === 0 ? null : (
            <div key={title}>
              <h4>{title}</h4>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keyboard */}
              <ol class="wire" tabIndex={0} aria-label={title}>
                {frames.toReversed().map(({ at, direction, text }, i) => (
                  <li key={i}>
                    <time>{clockTime(at)}</time> {direction === 'to_device' ? '→' : '←'} <code>{text}</code>
                  </li>
                ))}
              </ol>
            </div>
          ),
        )}
      </details>
    </Block>
  )
}

/** The findings of the doctor that name this device. */
function Findings({ device_id }: { device_id: string }) {
  const found = useSignal<{ level: string; finding: string; fix?: string }[] | undefined>(undefined)
  const examine = async () => {
    const answer = await ask('examineSystem', {}, { quiet: true })
    const isNamed = (text: string) => text.split(/[^\w.-]+/).some((word) => word.replace(/[.:]$/, '') === device_id)
    found.value = answer?.findings.filter(({ finding, fix = '' }) => isNamed(`${finding} ${fix}`)) ?? found.value
  }
  return (
    <Block title="Doctor">
      <div class="row">
        <Act label="Run the doctor" free onPress={examine} />
        {found.value?.length === 0 && <p role="status">The doctor has no finding about this device.</p>}
      </div>
      <ul class="list" aria-label="Findings">
        {found.value?.map(({ level, finding, fix }, i) => (
          <li key={i}>
            <span class={level === 'OK' || level === 'SKIP' ? undefined : 'bad'}>
              {level}: {finding}
            </span>
            {fix && <small>To do: {fix}</small>}
          </li>
        ))}
      </ul>
    </Block>
  )
}

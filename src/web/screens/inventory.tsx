// The inventory of a storage: the labware in its slots, what stands at its transfer stations, and the correction of a slot.

import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { DeviceInfo, State } from '../../clients/ts/benchd.ts'
import { BarcodeField } from '../barcode_field.tsx'
import type { Position, Standing } from '../deck_state.ts'
import { MorePart } from '../more_part.tsx'
import { startOperation, whyNot } from '../operations.tsx'
import { Act, Block, Empty, ShowAll } from '../parts.tsx'
import { filledWords, isUncertain, labwareWords, type Storage, type Stored, searchedFor, storedIn } from '../storage.ts'
import { notice, now, refusalOf, state, storageOf, topology } from '../store.tsx'
import { clockMinutes, onPage } from '../words.ts'
import { CorrectSlot } from './correct_slot.tsx'

export function Inventory({ device }: { device: DeviceInfo }) {
  const storage = storageOf(device.device_id)
  return (
    <Block title="Inventory">
      {storage ? <Kept device={device} storage={storage} labware={state.value.labware} /> : <NotKept device_id={device.device_id} />}
    </Block>
  )
}

/** Shows why the service keeps no inventory, and the way to the topologies. */
function NotKept({ device_id }: { device_id: string }) {
  const why = useSignal('')
  useEffect(() => {
    void refusalOf({ operation: 'getInventory', asked: { path: { device_id } } }).then((text = '') => (why.value = text))
  }, [device_id, topology.value?.name])
  return (
    <>
      <p class="long">{why.value}</p>
      <a class="button quiet" href="#/deck">
        Show the deck
      </a>
    </>
  )
}

type KeptProps = { device: DeviceInfo; storage: Storage; labware: State['labware'] }

function Kept({ device, storage, labware }: KeptProps) {
  const { device_id } = storage
  const searched = useSignal('')
  const isCorrecting = useSignal(false)
  const stored = useMemo(() => storedIn(storage, labware), [storage, labware])
  const why = whyNot(device)
  return (
    <>
      <p>{filledWords(storage)} slots taken.</p>
      {storage.stations.map((station) => (
        <Station key={station.name} station={station} device_id={device_id} its={labware[station.labware?.labware_id ?? '']} why={why} />
      ))}
      <Uncertain storage={storage} labware={labware} />
      <p class="row">
        <span aria-hidden="true">{searchLabel}</span>
        {isCorrecting.value ? (
          // The form takes the scans.
          <input aria-label={searchLabel} placeholder="Barcode" {...typedInto(searched)} />
        ) : (
          <BarcodeField label={searchLabel} of={searched} />
        )}
        {searched.value && (
          <button type="button" class="quiet" onClick={() => (searched.value = '')}>
            Show all
          </button>
        )}
      </p>
      <Table stored={stored} searched={searched.value} why={why ?? taken(storage)} device_id={device_id} />
      <details onToggle={(event) => (isCorrecting.value = event.currentTarget.open)}>
        <summary>Correct a slot</summary>
        {isCorrecting.value && <CorrectSlot storage={storage} stored={stored} />}
      </details>
    </>
  )
}

const searchLabel = 'Search by barcode'

function typedInto(of: { value: string }) {
  return { value: of.value, onInput: (event: Event) => (of.value = (event.currentTarget as HTMLInputElement).value) }
}

/** Returns why nothing can be retrieved; undefined while a transfer station is free. */
function taken({ stations }: Storage): string | undefined {
  const [first] = stations
  if (!first || stations.some(({ labware }) => !labware)) return undefined
  return `${labwareWords(first.labware!)} stands at ${first.name}.`
}

/** Starts an operation of the storage in the state that is shown. */
async function move(device_id: string, operation: 'store' | 'retrieve', params: object): Promise<void> {
  const device = state.peek().device[device_id]
  const refused = device && (await startOperation(device, operation, { ...params }))
  notice.value = refused ? { text: refused, bad: true } : undefined
}

type StationProps = { station: Position; its: Standing | undefined; device_id: string; why: string | undefined }

function Station({ station: { name, reserved_for, labware }, its, device_id, why }: StationProps) {
  const thread = state.value.thread[reserved_for ?? '']
  const kept = thread ? `kept for ${thread.thread_name}` : 'nothing is known to stand there'
  const mover = its?.thread_name ? `The thread ${its.thread_name} moves it.` : undefined
  return (
    <p class="row">
      <span>
        Transfer station {name}: {labware ? labwareWords(labware) : kept}.
      </span>
      <Act label="Store" name={`Store from ${name}`} why={why ?? mover} onPress={() => move(device_id, 'store', {})} />
    </p>
  )
}

/** The labware that may be in two places, with the remedy. */
function Uncertain({ storage: { device_id, slots, stations }, labware }: { storage: Storage; labware: State['labware'] }) {
  const all = Object.values(labware).filter((its) => its.held_by === device_id && its.thread_id === null && isUncertain(its))
  return (
    <>
      {all.map((its) => {
        const likely = (one: Position) => one.name === its.position || one.reserved_for === its.labware_id
        const positions = [...stations, ...slots]
        const ordered = [...positions.filter(likely), ...positions.filter((one) => !likely(one))]
        return (
          <div key={its.labware_id} class="fault long">
            {labwareWords(its)} is {onPage(its.place)}. Look where it is, and say so:
            <MorePart show={({ SomebodyMovedIt }) => <SomebodyMovedIt its={its} positions={ordered} />} />
          </div>
        )
      })}
    </>
  )
}

/** More rows than these are shown on request. */
const mostRows = 200

type TableProps = { stored: readonly Stored[]; searched: string; why: string | undefined; device_id: string }

/** The taken slots. The rows are made again only when one of them may be another. */
function Table({ stored, searched, why, device_id }: TableProps) {
  const showsAll = useSignal(false)
  const found = searchedFor(stored, searched)
  const shown = showsAll.value ? found : found.slice(0, mostRows)
  const rows = useMemo(
    () => shown.map((one) => <Row key={one.its.labware_id} stored={one} why={why} device_id={device_id} />),
    [stored, searched, why, device_id, showsAll.value],
  )
  if (found.length === 0) return <Empty>{stored.length === 0 ? 'All slots are empty.' : 'No slot has labware with this barcode.'}</Empty>
  return (
    <>
      <table class="inventory">
        <thead>
          <tr>
            <th>Slot</th>
            <th>Labware</th>
            <th>Since</th>
            <td />
          </tr>
        </thead>
        <tbody>{rows}</tbody>
      </table>
      <ShowAll of={showsAll} rest={found.length - shown.length} />
    </>
  )
}

type RowProps = { stored: Stored; why: string | undefined; device_id: string }

function Row({ stored: { slot, its }, why, device_id }: RowProps) {
  const { name, barcode, type, stored_at, thread_name, place } = its
  const mover = thread_name === null ? undefined : `thread ${thread_name}`
  const where = isUncertain(its) ? onPage(place) : undefined
  return (
    <tr>
      <th>{slot}</th>
      <td>
        {name}
        {barcode !== null && barcode !== name && ` ${barcode}`}
        <small> {[type, mover, where].filter(Boolean).join(', ')}</small>
      </td>
      <td>{stored_at !== null && clockMinutes(stored_at, now.peek() / 1000)}</td>
      <td>
        <Act
          label="Retrieve"
          name={`Retrieve slot ${slot}`}
          why={why ?? (mover && `The ${mover} moves it.`)}
          onPress={() => move(device_id, 'retrieve', { slot })}
        />
      </td>
    </tr>
  )
}

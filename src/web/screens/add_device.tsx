// The screen *Add a device*: the port, the driver that answers there, a name, a try, and the device is in the configuration.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Operations } from '../../clients/ts/benchd.ts'
import { benchd } from '../command_here.tsx'
import { boxAt, commandFor, freeId, instrumentAt, type NewDevice, type Transport } from '../new_device.ts'
import { Act, Choice, Empty, namesOf, Text, useAnswer } from '../parts.tsx'
import { ask, mayAdminister, notice, state } from '../store.tsx'
import { sentence } from '../words.ts'

type Port = Operations['listPorts']['answer']['ports'][number]
type Drivers = Operations['listDrivers']['answer']
type Answer = Operations['identifyInstrument']['answer']

/** The places besides the ports that were found. */
const otherPlaces = {
  tcp: 'On the network: itself, or behind a serial box',
  path: 'Another port of this computer',
  simulated: 'Nowhere: simulate it, to rehearse',
  person: 'Nowhere: a person carries labware by hand',
}

export function AddDeviceScreen() {
  const ports = useAnswer('listPorts')
  const drivers = useAnswer('listDrivers')
  if (!mayAdminister.value) return <Empty>To add a device, enter a key of scope admin.</Empty>
  return (
    <section aria-label="Add a device" class="add-device">
      <h2>Add a device</h2>
      {ports.value && drivers.value ? (
        <Adding ports={ports.value.ports} drivers={drivers.value} onLook={ports.read} />
      ) : (
        <Empty>Looking for ports …</Empty>
      )}
    </section>
  )
}

function Adding({ ports, drivers, onLook }: { ports: readonly Port[]; drivers: Drivers; onLook: () => unknown }) {
  const free = ports.filter(({ device_id }) => device_id === null)
  const its = useDevice(free, drivers)
  const told = useSignal<Answer | undefined>(undefined)
  const { device, mistake } = its.wanted()
  const asked = JSON.stringify([device?.transport, device?.driver, device?.settings])
  const latest = useRef(asked)
  latest.current = asked
  useEffect(() => {
    told.value = undefined
  }, [asked])
  const hasLine = its.place.value !== 'simulated' && its.place.value !== 'person'
  const tryIt = async () => {
    const { driver, transport, settings } = device!
    const body = { transport, ...(settings && { settings }) }
    const answer = await ask('identifyInstrument', { path: { driver }, body }, { quiet: true })
    // An answer about another port or driver comes too late.
    if (asked === latest.current) told.value = answer
  }
  const unproven = hasLine && !told.value ? 'Try it first.' : told.value?.is_wrong ? 'Another instrument answers there.' : undefined
  return (
    <>
      <p class="hint">
        Plug the instrument in and switch it on. “Try it” only asks the instrument who it is: nothing moves, and no other device is touched.
      </p>
      <div class="fields">
        <Choice label="Where it is" choices={placesOf(free)} of={its.place} />
        <Act label="Refresh" name="Refresh the ports" free onPress={onLook} />
        {its.place.value === 'tcp' && <Text id="new-box" {...addressOf(its.tcpPort)} of={its.address} />}
        {its.place.value === 'path' && <Text id="new-path" label="Path of the port" of={its.address} placeholder="/dev/ttyAMA0" />}
        {its.place.value !== 'person' && <Choice label="Instrument" choices={instrumentsOf(drivers)} of={its.driver} />}
        {its.models.length > 0 && <Choice label="Model" choices={namesOf(its.models)} of={its.model} />}
        <Text id="new-id" label="Id in commands and workflows" of={its.id} placeholder={its.suggested} />
        <Text id="new-name" label="Name for people" of={its.name} placeholder="optional" />
      </div>
      <div class="foot">
        {hasLine && <Told told={told.value} onUse={(driver) => (its.driver.value = driver)} />}
        <div class="row actions">
          {hasLine && <Act label="Try it" kind={told.value ? undefined : 'main'} why={mistake} onPress={tryIt} />}
          {drivers.is_writable && (
            <Act label="Save" kind={unproven ? undefined : 'main'} why={mistake ?? unproven} onPress={() => save(device!, told.value)} />
          )}
          {mistake && <span class="hint">{mistake}</span>}
        </div>
      </div>
      {!drivers.is_writable && <AtShell drivers={drivers} device={device} />}
    </>
  )
}

/** Holds what was chosen and typed. */
function useDevice(free: readonly Port[], { drivers }: Drivers) {
  const place = useSignal(free[0] ? nameOf(free[0]) : 'simulated')
  const address = useSignal('')
  const driver = useSignal(drivers[0]?.driver ?? '')
  const model = useSignal('')
  const [id, name] = [useSignal(''), useSignal('')]
  const isPerson = place.value === 'person'
  const found = drivers.find((one) => one.driver === driver.value)
  const taken = Object.keys(state.value.device)
  const suggested = isPerson ? freePerson(taken) : freeId(found?.type ?? 'device', taken)
  const models = isPerson ? [] : (found?.models ?? [])
  const tcpPort = found?.tcp_port ?? null
  const wanted = (): { device?: NewDevice; mistake?: string } => {
    const device_id = id.value.trim() || suggested
    if (taken.includes(device_id)) return { mistake: `The bench has a device ${device_id} already.` }
    if (!/^[\w-]+$/.test(device_id)) return { mistake: 'An id has letters, digits, - and _ only.' }
    const named = name.value.trim()
    const device = { device_id, driver: isPerson ? 'person' : driver.value, ...(named && { name: named }) }
    if (isPerson) return { device }
    const transport = transportOf(place.value, address.value, tcpPort)
    if (typeof transport === 'string') return { mistake: transport }
    if (transport.kind === 'serial' && tcpPort !== null) return { mistake: 'This instrument is on the network: choose that as its place.' }
    if (transport.kind === 'tcp' && !found?.is_tcp) return { mistake: 'This instrument needs a port of this computer.' }
    const settings = model.value && models.includes(model.value) ? { settings: { model: model.value } } : {}
    return { device: { ...device, transport, ...settings } }
  }
  useEffect(() => {
    model.value = models.includes(model.value) ? model.value : (found?.model ?? '')
  }, [driver.value])
  return { place, address, driver, model, models, id, name, suggested, tcpPort, wanted }
}

function freePerson(taken: readonly string[]): string {
  return taken.includes('hands') ? freeId('hands', taken) : 'hands'
}

/** Words the field of an address: of a serial box, or of an instrument whose usual port is known. */
function addressOf(tcpPort: number | null): { label: string; placeholder: string } {
  if (tcpPort === null) return { label: 'Address of the box', placeholder: 'box.lab:4001' }
  return { label: `Address of the instrument, with its port unless that is ${tcpPort}`, placeholder: '192.168.1.60' }
}

/** Returns the transport, or a sentence that says what is missing. */
function transportOf(place: string, address: string, tcpPort: number | null): Transport | string {
  if (place === 'simulated') return { kind: 'simulated' }
  if (place === 'tcp' && tcpPort !== null) return instrumentAt(address) ?? 'Type the address of the instrument, such as 192.168.1.60.'
  if (place === 'tcp') return boxAt(address) ?? 'Type the address of the box, such as box.lab:4001.'
  if (place !== 'path') return { kind: 'serial', path: place }
  return address.trim().startsWith('/dev/') ? { kind: 'serial', path: address.trim() } : 'Type the path of the port, such as /dev/ttyAMA0.'
}

function nameOf({ by_id, path }: Port): string {
  return by_id ?? path
}

function placesOf(free: readonly Port[]): Record<string, string> {
  const found = free.map((port) => {
    const what = [port.manufacturer, port.product].filter(Boolean).join(' ')
    return [nameOf(port), what ? `${what}, ${port.path}` : port.path]
  })
  return { ...Object.fromEntries(found), ...otherPlaces }
}

function instrumentsOf({ drivers }: Drivers): Record<string, string> {
  return Object.fromEntries(drivers.map(({ driver, instrument }) => [driver, `${instrument} (${driver})`]))
}

/** Shows the answer of the instrument; of a wrong one, a button for each driver that fits. */
function Told({ told, onUse }: { told: Answer | undefined; onUse: (driver: string) => void }) {
  return (
    <div role="status">
      {told && (
        <p class={told.identity ? 'state good' : told.is_wrong ? 'fault long' : 'hint long'}>
          {sentence(told.message)} {!told.identity && !told.is_wrong && 'It can be saved all the same.'}
        </p>
      )}
      {told?.fitting_drivers.map((driver) => (
        <button key={driver} type="button" class="plain" onClick={() => onUse(driver)}>
          Use the driver {driver}
        </button>
      ))}
    </div>
  )
}

async function save(device: NewDevice, told: Answer | undefined): Promise<void> {
  const identity = told?.expected
  const saved = await ask('addDevice', { body: { ...device, ...(identity && { identity }) } }, { quiet: true })
  if (!saved) return
  location.hash = '#/bench'
  // After the change of the screen, which takes an old success away.
  setTimeout(() => {
    notice.value = { text: sentence(saved.message), bad: !saved.in_force }
  })
}

/** The command to type where the service must not change its own configuration. */
function AtShell({ drivers: { config_file }, device }: { drivers: Drivers; device: NewDevice | undefined }) {
  if (config_file === null) return <Empty>This bench has no configuration file, as in the demo, so no device can be saved.</Empty>
  return (
    <div class="first-steps">
      <p>The service may not change its configuration:</p>
      <code>{config_file}</code>
      <p>Type this at a shell of its computer, for example over SSH:</p>
      {device && <code>{commandFor(device, benchd)}</code>}
    </div>
  )
}

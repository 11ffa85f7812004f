// Sets faults of simulated devices, of the bench or of a run on simulators, to rehearse a recovery.

import { useSignal } from '@preact/signals'
import type { SetSimulatedFaultRequest } from '../clients/ts/benchd.ts'
import { Act, Choice, namesOf } from './parts.tsx'

const faults: Record<SetSimulatedFaultRequest['fault'], string> = {
  jam: 'it jams',
  no_reply: 'it does not answer',
  garbage: 'it answers nonsense',
  half_reply: 'its answers are cut off',
  late_reply: 'it answers late',
  unplug: 'its cable is out',
  overtemperature: 'it is too hot',
  interlock_open: 'its door is open',
}

type RehearsalProps = {
  devices: readonly string[]
  onBreak: (device_id: string, fault: SetSimulatedFaultRequest['fault']) => unknown
  onMend: (device_id: string) => unknown
}

export function Rehearsal({ devices, onBreak, onMend }: RehearsalProps) {
  const device = useSignal('')
  const fault = useSignal<SetSimulatedFaultRequest['fault']>('jam')
  const chosen = devices.includes(device.value) ? device.value : (devices[0] ?? '')
  return (
    <section aria-label="Rehearse a fault" class="fields">
      <h3>Rehearse a fault</h3>
      <Choice label="Simulated device" value={chosen} onChange={(value) => (device.value = value)} choices={namesOf(devices)} />
      <Choice label="Fault" value={fault.value} onChange={(value) => (fault.value = value as typeof fault.value)} choices={faults} />
      <Act label="Simulate fault" kind="danger" onPress={() => onBreak(chosen, fault.value)} />
      <Act label="End fault" onPress={() => onMend(chosen)} />
    </section>
  )
}

// The words in which a person reads what a device does or did.

import { type Sentence, sentence } from '../kit/sentence.ts'
import type { OperationRecord } from './records.ts'

/** A template for each operation, and for the moves of a transporter in a run. */
const words: Readonly<Record<string, string>> = {
  initialize: 'Initialized|initialize {device}',
  shake: 'Shook|shake {device}[ at {speed} rpm][ for {duration} s]',
  centrifuge: 'Spun|spin {device}[ at {g} ×g][ for {duration} s]',
  seal: 'Sealed|seal with {device}[ at {temperature} °C][ for {duration} s]',
  peel: 'Peeled|peel with {device}[ with parameter set {parameter_set}][, adhere {adhere}]',
  stop: 'Stopped|stop {device}',
  open: 'Opened|open {device}',
  close: 'Closed|close {device}',
  lock_plate: 'Locked|lock the plate in {device}',
  unlock_plate: 'Unlocked|unlock the plate in {device}',
  set_temperature: 'Set|set {device}[ to {temperature} °C]',
  set_lid_temperature: 'Set|set the lid of {device}[ to {lid_temperature} °C]',
  run_profile: 'Ran|run a temperature profile on {device}',
  store: 'Stored|store the labware at {device}[ in slot {slot}]',
  retrieve: 'Retrieved|retrieve the labware[ in slot {slot}] of {device}',
  scan: 'Scanned|scan with {device}',
  weigh: 'Weighed|weigh on {device}',
  tare: 'Tared|tare {device}',
  zero: 'Set|set {device} to zero',
  jog: 'Jogged|jog {device}[ along {axis} {direction}]',
  free_drive: 'Led|lead {device} by hand',
  go_to: 'Moved|move {device}[ to teachpoint {teachpoint}]',
  pick: 'Picked|pick labware up[ at {at}] with {device}',
  place: 'Set|set labware down[ at {at}] with {device}',
}
const heaterOff = 'Switched|switch the heater of {device} off'
const lidHeaterOff = 'Switched|switch the heater of the lid of {device} off'
const anyOther = 'Performed|perform {operation} at {device}[ ({listed})]'

/** Words an operation, also one that the program behind a device describes. */
export function operationWords(device: string, operation: string, params: Readonly<Record<string, unknown>>): Sentence {
  if (operation === 'set_temperature' && params.temperature === null) return sentence(heaterOff, { device })
  if (operation === 'set_lid_temperature' && params.lid_temperature === null) return sentence(lidHeaterOff, { device })
  const template = Object.hasOwn(words, operation) ? words[operation]! : anyOther
  const listed = Object.entries(params)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')
  return sentence(template, { ...params, listed, operation, device })
}

/** Says in a sentence what an operation came to. */
export function operationText({ device_id, operation, params, status, result, detail, ended_early }: OperationRecord): string {
  const { past, infinitive } = operationWords(device_id, operation, params)
  if (status === 'running') return `Began to ${infinitive}`
  if (result === null) return `Began to ${infinitive}, and the outcome is unknown`
  if (!result.success) return `Tried to ${infinitive}, which failed: ${detail ?? result.message}`
  return ended_early ? `${past}, ended early` : past
}

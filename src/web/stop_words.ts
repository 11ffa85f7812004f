// The sentences about STOP ALL: what happened, why, and what to do next.

import { BenchError, type DeviceInfo, type StopAllResult } from '../clients/ts/benchd.ts'
import { titled } from './forms.ts'
import type { Stop, StopAnswer } from './repeated_stop.ts'
import { onPage } from './words.ts'

const byHand = 'Use the stop buttons of the instruments.'

/** The answer of something else than the service, such as a proxy while the service is away. */
const isNoBenchd: StopAnswer = { isConfirmed: false, isFinal: false, text: 'the answer does not come from benchd' }

/** Reads the answer to an accepted stop. */
export function takenStop(result: Partial<StopAllResult>): StopAnswer {
  if (!Array.isArray(result.devices)) return isNoBenchd
  const open = result.devices.filter(({ success }) => !success).map(({ device_id }) => device_id)
  const isConfirmed = result.success === true
  return { isConfirmed, isFinal: true, text: isConfirmed ? '' : `stop sent to all devices, not confirmed by ${open.join(', ') || 'each'}` }
}

/** Reads the answer to a refused stop; undefined without an answer. The stop is repeated if the service starts, or was not reached. */
export function refusedStop(error: unknown): StopAnswer | undefined {
  // The answer was not JSON.
  if (error instanceof SyntaxError) return isNoBenchd
  if (!(error instanceof BenchError)) return undefined
  const { status, reason, message, retry_after_s } = error
  // Every refusal of the service names its reason.
  if (reason === 'unknown') return isNoBenchd
  const isFinal = status !== 503 || retry_after_s === undefined
  const why = status === 401 ? 'it accepts no stop without a valid key' : onPage(message).replace(/\.$/, '')
  return { isConfirmed: false, isFinal, text: `the service answered ${status}: ${why}` }
}

/** The sentences about a stop of this page; `time` is that of the touch. */
export function stopSentence({ phase, answer }: Stop, time: string): string {
  if (phase === 'sent') return `STOP ALL was sent at ${time}. The service has not answered yet.`
  if (phase === 'asks')
    return `STOP ALL from ${time} was not confirmed. The page did not run meanwhile, so it does not send the stop by itself. Send it now?`
  if (answer?.isConfirmed) return `Every device confirmed STOP ALL from ${time}.`
  return `STOP NOT CONFIRMED: ${answer?.text ?? 'the service does not answer'}. Devices may still move. ${byHand}`
}

/** Returns the number of requests of a repeated stop, and the time of the first. */
export function triesWords({ tries }: Stop, time: string): string {
  return `The page repeats STOP ALL by itself: sent ${tries === 1 ? 'once' : `${tries} times`} since ${time}.`
}

/** Returns a sentence with the devices that work again after a stop; an empty text without any. */
export function atWork(devices: readonly Pick<DeviceInfo, 'device_id' | 'state' | 'operation'>[]): string {
  const busy = devices.filter(({ state }) => state === 'busy')
  const names = busy.map(({ device_id, operation }) => (operation ? `${device_id} (${titled(operation.name)})` : device_id))
  return names.length === 0 ? '' : `At work now: ${names.join(', ')}.`
}

/** Returns why STOP ALL of this browser may have no effect; undefined if the service accepts its key. */
export function noStopWords(has_key: boolean, isRefused: boolean): string | undefined {
  if (!has_key) return `This browser has no key, so it is not allowed to stop the devices. ${byHand}`
  return isRefused
    ? `The service did not accept the key of this browser. STOP ALL still sends the key, but may be refused. ${byHand}`
    : undefined
}

// The sentences about STOP ALL: what happened, why, and what to do next.

import { BenchError, type DeviceInfo, type StopAllResult } from '../clients/ts/benchd.ts'
import { titled } from './forms.ts'
import type { Stop, StopAnswer } from './repeated_stop.ts'
import { onPage } from './words.ts'

const byHand = 'Use the stop buttons of the instruments.'

/** For example that of a proxy while the service is away: the service itself has not answered. */
const isNoBenchd: StopAnswer = { isConfirmed: false, isFinal: false, text: 'the answer is not one of benchd' }

/** Reads the answer to a stop that the service took. */
export function takenStop(result: Partial<StopAllResult>): StopAnswer {
  if (!Array.isArray(result.devices)) return isNoBenchd
  const open = result.devices.filter(({ success }) => !success).map(({ device_id }) => device_id)
  const isConfirmed = result.success === true
  return { isConfirmed, isFinal: true, text: isConfirmed ? '' : `stop sent to all devices, not confirmed by ${open.join(', ') || 'each'}` }
}

/** Reads the answer to a stop that was refused. Returns undefined when there was no answer. The stop is repeated where the service starts, or was not reached. */
export function refusedStop(error: unknown): StopAnswer | undefined {
  // The answer was no JSON.
  if (error instanceof SyntaxError) return isNoBenchd
  if (!(error instanceof BenchError)) return undefined
  const { status, reason, message, retry_after_s } = error
  // Every refusal of the service names its reason.
  if (reason === 'unknown') return isNoBenchd
  const isFinal = status !== 503 || retry_after_s === undefined
  const why = status === 401 ? 'it takes no stop without a valid key' : onPage(message).replace(/\.$/, '')
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

/** How often a stop that is repeated was sent, and since when. */
export function triesWords({ tries }: Stop, time: string): string {
  return `The page repeats STOP ALL by itself: sent ${tries === 1 ? 'once' : `${tries} times`} since ${time}.`
}

/** The devices that are at work, whatever was stopped before; an empty text when there are none. */
export function atWork(devices: readonly Pick<DeviceInfo, 'device_id' | 'state' | 'operation'>[]): string {
  const busy = devices.filter(({ state }) => state === 'busy')
  const names = busy.map(({ device_id, operation }) => (operation ? `${device_id} (${titled(operation.name)})` : device_id))
  return names.length === 0 ? '' : `At work now: ${names.join(', ')}.`
}

/** The reason why STOP ALL of this browser may stop nothing; undefined when the service takes its key. */
export function noStopWords(has_key: boolean, isRefused: boolean): string | undefined {
  if (!has_key) return `This browser has no key, so it is not allowed to stop the devices. ${byHand}`
  return isRefused ? `The service did not take the key of this browser. STOP ALL still sends it, but may be refused. ${byHand}` : undefined
}

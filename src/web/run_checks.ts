// The checks before a run: what is missing or not ready, each with the button that leads on.

import type { DeviceInfo, State } from '../clients/ts/benchd.ts'
import { needsInitializing } from './needs.ts'
import { deviceWords, sentence } from './words.ts'

/** `initialize`: the devices of its button; `href` and `label`: its link. */
export type Check = { text: string; isBad: boolean; initialize?: readonly DeviceInfo[]; href?: string; label?: string }

type Checked = {
  topology: string
  mode: string
  state: Pick<State, 'device' | 'topology'>
  /** The reason why the service would refuse the run now. */
  refusal: string | null | undefined
}

export function checksOf({ topology, mode, state, refusal }: Checked): Check[] {
  return [...refusalChecks(refusal), ...(mode === 'LIVE' ? deviceChecks(topology, state) : [])]
}

function deviceChecks(topology: string, { device, topology: loaded }: Checked['state']): Check[] {
  const names = loaded[topology] ? [...loaded[topology].devices, ...loaded[topology].transporters] : []
  const its = [...new Set(names.map(({ device_id }) => device_id))].flatMap((id) => device[id] ?? [])
  const waiting = its.filter(needsInitializing)
  const away = its.filter(({ state }) => state === 'disconnected' || state === 'faulted')
  const listed = (devices: readonly DeviceInfo[]) =>
    [...new Set(devices.map(({ state }) => state))].map((word) => `${namesIn(devices, word)} (${deviceWords[word].word})`).join(', ')
  return [
    ...(waiting.length
      ? [{ text: `Not ready: ${listed(waiting)}.`, isBad: waiting.some(({ state }) => state !== 'not_initialized'), initialize: waiting }]
      : []),
    ...(away.length ? [{ text: `Out of order: ${listed(away)}.`, isBad: true, href: '#/bench', label: 'Show Bench' }] : []),
  ]
}

function namesIn(devices: readonly DeviceInfo[], word: DeviceInfo['state']): string {
  return devices.flatMap(({ device_id, state }) => (state === word ? device_id : [])).join(', ')
}

function refusalChecks(refusal: string | null | undefined): Check[] {
  if (!refusal) return []
  const [, reasons = refusal] = /^workflow .* cannot run in [A-Z_]+, only in [A-Z_]+(?: and [A-Z_]+)?: (.*)$/s.exec(refusal) ?? []
  const missing = reasons.split('; ').flatMap((reason) => {
    const [, arm, names] = /^(\S+) was not taught (.*?) \(teach them/.exec(reason) ?? []
    return arm && names ? names.split(', ').map((name) => ({ arm, name })) : []
  })
  const others = reasons.split('; ').filter((reason) => !/ was not taught /.test(reason))
  const arms = [...new Set(missing.map(({ arm }) => arm))].join(', ')
  const points = missing.length === 1 ? '1 teachpoint is' : `${missing.length} teachpoints are`
  return [
    ...(missing.length
      ? [
          {
            text: `${points} missing for ${arms}: ${missing.map(({ name }) => name).join(', ')}.`,
            isBad: true,
            href: '#/teach',
            label: 'Teach them',
          },
        ]
      : []),
    ...others.map((text) => ({ text: sentence(text), isBad: true })),
  ]
}

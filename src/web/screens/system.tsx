// The screen System: the health and clock of the service, the key of this browser, and the blocks for ports, access and care.

import { NameForm } from '../name_form.tsx'
import { Block, Empty, useAnswer } from '../parts.tsx'
import { Rehearsal } from '../rehearsal.tsx'
import { sound, switchSound } from '../sound.tsx'
import { ask, mayAdminister, scope, state } from '../store.tsx'
import { Time } from '../time.tsx'
import { duration } from '../words.ts'
import { Keys } from './system_access.tsx'
import { Backups, Configuration, Doctor, Messages, Plugins } from './system_care.tsx'
import { Ports } from './system_ports.tsx'

const syncWords: Record<string, string> = {
  true: 'set by a time server',
  false: 'not set by a time server',
  null: 'unknown whether set by a time server',
}

export function SystemScreen({ onForget }: { onForget: () => void }) {
  const [health] = Object.values(state.value.service)
  const time = useAnswer('getTime')
  const system = useAnswer('getSystem')
  return (
    <section aria-label="System" class="system">
      <h2>System</h2>
      <dl>
        <dt>Health</dt>
        <dd class={`state ${health?.status === 'ok' ? 'good' : 'bad'}`}>
          {health?.status ?? 'unknown'}
          {health && health.reasons.length > 0 && `: ${health.reasons.join(', ').replaceAll('_', ' ')}`}
        </dd>
        <dt>Version</dt>
        <dd>
          benchd {health?.version}, API {system.value?.api_version}
        </dd>
        <dt>System</dt>
        <dd>{system.value?.system_id}</dd>
        {system.value?.tls_fingerprint && (
          <>
            <dt>Certificate</dt>
            <dd class="long">{system.value.tls_fingerprint}</dd>
          </>
        )}
        <dt>Clock</dt>
        <dd>
          {time.value && (
            <>
              <Time at={time.value.time} now={time.value.time} />, {Intl.DateTimeFormat().resolvedOptions().timeZone},{' '}
              {syncWords[String(time.value.clock_synced)]}
            </>
          )}
        </dd>
        <dt>Uptime</dt>
        <dd>{time.value && duration(time.value.uptime_s)}</dd>
        <Browser onForget={onForget} />
      </dl>
      <p class="row">
        <a class="button plain" href="#/lab">
          Benches of the lab
        </a>
        <a class="button plain" href="docs">
          API and documents
        </a>
        <a class="button plain" href="openapi.json">
          openapi.json
        </a>
        <a class="button plain" href="docs/guides/care">
          Guides
        </a>
      </p>
      <Simulated />
      {mayAdminister.value && <Doctor />}
      <Ports />
      <Plugins />
      {mayAdminister.value ? (
        <>
          <Keys />
          <Backups />
          <Messages />
          <Block title="Who did what">
            <div class="row">
              <a class="button plain" href="#/system/who">
                Show who did what
              </a>
            </div>
          </Block>
          <Configuration />
        </>
      ) : (
        <Empty>The doctor, keys, backups, the configuration and who did what need a key of scope admin.</Empty>
      )}
    </section>
  )
}

/** The key, the sound and the person of this browser. */
function Browser({ onForget }: { onForget: () => void }) {
  return (
    <>
      <dt>This browser</dt>
      <dd>
        has a key of scope {scope.value}{' '}
        <button type="button" class="plain" onClick={onForget}>
          Forget the key
        </button>{' '}
        <button type="button" class="plain" aria-pressed={sound.value} onClick={() => switchSound(!sound.value)}>
          {sound.value ? 'Sound is on' : 'Sound is off'}
        </button>
      </dd>
      <dt>Person</dt>
      <dd>
        <NameForm label="First name at this browser" />
      </dd>
    </>
  )
}

/** The faults of simulated devices, if the bench has any. */
function Simulated() {
  const devices = Object.values(state.value.device).flatMap(({ device_id, simulated }) => (simulated ? [device_id] : []))
  if (devices.length === 0) return null
  return (
    <Rehearsal
      devices={devices}
      onBreak={(device_id, fault) => ask('setSimulatedFault', { path: { device_id }, body: { fault } })}
      onMend={(device_id) => ask('clearSimulatedFaults', { path: { device_id } })}
    />
  )
}

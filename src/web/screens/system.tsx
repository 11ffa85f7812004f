// The service itself: how it is, the clock, ports, keys, backups, who did what, and the key of this browser.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Operations } from '../../clients/ts/benchd.ts'
import { Act, Empty, Text, useAnswer } from '../parts.tsx'
import { Rehearsal } from '../rehearsal.tsx'
import { sound, switchSound } from '../sound.tsx'
import { ask, download, mayAdminister, notice, scope, state } from '../store.tsx'
import { clockTime, duration } from '../words.ts'

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
          {time.value
            ? `${time.value.utc.slice(0, 19).replace('T', ' ')} UTC, ${time.value.clock_synced === false ? 'not set by a time server' : time.value.clock_synced ? 'set by a time server' : 'not known whether set by a time server'}`
            : ''}
        </dd>
        <dt>Runs for</dt>
        <dd>{time.value && duration(time.value.uptime_s)}</dd>
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
      {mayAdminister.value ? (
        <>
          <Keys />
          <Backups />
          <Messages />
          <Audit />
          <Configuration />
        </>
      ) : (
        <Empty>The doctor, keys, backups, the configuration and the audit trail need a key of scope admin.</Empty>
      )}
    </section>
  )
}

/** The faults of simulated devices; nothing on a bench without any. */
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

function Block({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

type Findings = Operations['examineSystem']['answer']

const levels: Record<string, { mark: string; tone: string }> = {
  OK: { mark: '✓', tone: 'good' },
  WARN: { mark: '▲', tone: 'bad' },
  FAIL: { mark: '✕', tone: 'bad' },
  SKIP: { mark: '○', tone: 'calm' },
}

function Doctor() {
  const found = useSignal<Findings | undefined>(undefined)
  const showsAll = useSignal(false)
  const examine = async () => {
    found.value = (await ask('examineSystem', {}, { quiet: true })) ?? found.value
  }
  const wrong = found.value?.findings.filter(({ level }) => level === 'WARN' || level === 'FAIL') ?? []
  const shown = showsAll.value ? (found.value?.findings ?? []) : wrong
  return (
    <Block title="Doctor">
      <div class="row">
        <Act label="Run the doctor" free onPress={examine} />
        <Act label="Fetch a support bundle" free onPress={() => download('fetchBundle')} />
        {found.value && (
          <button type="button" class="quiet" aria-pressed={showsAll.value} onClick={() => (showsAll.value = !showsAll.value)}>
            {showsAll.value ? 'Show what is not well' : `Show all ${found.value.findings.length} checks`}
          </button>
        )}
      </div>
      {found.value && (
        <p class={`state ${found.value.failed ? 'bad' : 'good'}`}>
          {found.value.failed} failed, {found.value.warnings} {found.value.warnings === 1 ? 'warning' : 'warnings'}
        </p>
      )}
      <ul class="list" aria-label="Findings">
        {shown.map(({ check, level, finding, fix }, i) => (
          <li key={i}>
            <span>
              <span class={`state ${levels[level]?.tone}`}>
                {levels[level]?.mark} {level}
              </span>{' '}
              <strong>{check}</strong> {finding}
            </span>
            {fix && <small>To do: {fix}</small>}
          </li>
        ))}
      </ul>
    </Block>
  )
}

type Port = Operations['listPorts']['answer']['ports'][number]

const look_ms = 1000

function Ports() {
  const found = useAnswer('listPorts')
  const identifying = useSignal(false)
  const identified = useSignal('')
  const ports = found.value?.ports ?? []
  const isHere = useRef(true)
  useEffect(
    () => () => {
      isHere.current = false
    },
    [],
  )
  const identify = async () => {
    const before = found.value?.ports ?? []
    identifying.value = true
    identified.value = 'Now unplug the adapter, or plug it in.'
    while (identifying.value && isHere.current) {
      await new Promise((resolve) => setTimeout(resolve, look_ms))
      await found.read()
      const changed = changedPort(before, found.value?.ports ?? [])
      if (!changed) continue
      identified.value = `It is ${changed.by_id ?? changed.path}${changed.device_id ? `, the port of ${changed.device_id}` : ', which no device uses'}.`
      identifying.value = false
    }
  }
  return (
    <Block title="Ports">
      <div class="row">
        <button
          type="button"
          class="plain"
          onClick={() => {
            if (identifying.value) identified.value = ''
            if (identifying.value) identifying.value = false
            else void identify()
          }}
        >
          {identifying.value ? 'Stop looking' : 'Identify'}
        </button>
        <p role="status">{identified.value}</p>
      </div>
      {ports.length === 0 ? (
        <Empty>No serial port is there. Plug in an adapter and open this screen again.</Empty>
      ) : (
        <ul class="list">
          {ports.map(({ path, by_id, product, device_id }) => (
            <li key={path}>
              <span>
                <strong>{path}</strong> {product} {device_id ? `is ${device_id}` : 'is used by no device'}
              </span>
              {by_id && <small>{by_id}</small>}
            </li>
          ))}
        </ul>
      )}
    </Block>
  )
}

/** The port that one list has and the other has not. */
function changedPort(before: readonly Port[], after: readonly Port[]): Port | undefined {
  const missing = (from: readonly Port[], others: readonly Port[]) => from.find(({ path }) => others.every((other) => other.path !== path))
  return missing(before, after) ?? missing(after, before)
}

function Configuration() {
  const config = useAnswer('getConfig')
  const said = useSignal('')
  const reload = async () => {
    const answer = await ask('reloadSystem', { body: {} })
    if (!answer) return
    const { needs_restart, faults } = answer
    said.value = [
      ...(needs_restart.length ? [`A restart is needed for ${needs_restart.join(', ')}.`] : []),
      ...faults.map(({ origin, reason }) => `${origin}: ${reason}.`),
    ].join(' ')
    await config.read()
  }
  return (
    <Block title="Configuration">
      <div class="row">
        <Act label="Read it again" name="Read it again: the configuration" onPress={reload} />
        <p role="status" class="long">
          {said.value}
        </p>
      </div>
      <details>
        <summary>The configuration in force, with its defaults and without secrets</summary>
        <pre>{JSON.stringify(config.value, null, 2)}</pre>
      </details>
    </Block>
  )
}

function Keys() {
  const found = useAnswer('listKeys')
  const made = useSignal<string | undefined>(undefined)
  const name = useSignal('')
  const wanted = useSignal('operate')
  const keys = (found.value?.keys ?? []).filter(({ revoked_at }) => revoked_at === null)
  return (
    <Block title="Keys">
      <ul class="list">
        {keys.map(({ key_id, name, scope, last_used_at, expires_at }) => (
          <li key={key_id} class="row">
            <span>
              <strong>{name}</strong> {key_id}, {scope}, {last_used_at ? `used ${clockTime(last_used_at)}` : 'never used'}
              {expires_at ? `, ends ${clockTime(expires_at)}` : ''}
            </span>
            <Act
              label="Rotate"
              name={`Rotate ${name}`}
              kind="quiet"
              twice="Rotate: press again"
              onPress={async () => {
                made.value = (await ask('rotateKey', { path: { key_id }, body: {} }, { quiet: true }))?.api_key
                await found.read()
              }}
            />
            <Act
              label="Revoke"
              name={`Revoke ${name}`}
              kind="quiet"
              twice="Revoke: press again"
              onPress={async () => {
                await ask('revokeKey', { path: { key_id } })
                await found.read()
              }}
            />
          </li>
        ))}
      </ul>
      <div class="fields">
        <Text id="key-name" label="Name of a new key" of={name} />
        <div class="field">
          <label for="key-scope">Scope</label>
          <select id="key-scope" value={wanted.value} onChange={(event) => (wanted.value = event.currentTarget.value)}>
            <option>read</option>
            <option>operate</option>
            <option>admin</option>
          </select>
        </div>
        <Act
          label="Create key"
          why={name.value.trim() === '' ? 'Give it a name first.' : undefined}
          onPress={async () => {
            const answer = await ask('createKey', { body: { name: name.value.trim(), scope: wanted.value } }, { quiet: true })
            made.value = answer?.api_key
            await found.read()
          }}
        />
      </div>
      {made.value && (
        <p class="secret">
          Copy it now, it is shown once: <code>{made.value}</code>
        </p>
      )}
    </Block>
  )
}

function Backups() {
  const found = useAnswer('listBackups')
  const backups = found.value?.backups ?? []
  return (
    <Block title="Backups">
      <div class="row">
        <Act
          label="Make a backup"
          onPress={async () => {
            await ask('createBackup', { body: {} })
            await found.read()
          }}
        />
      </div>
      {backups.length === 0 ? (
        <Empty>There is no backup yet; one is made each day.</Empty>
      ) : (
        <ul class="list">
          {backups.slice(0, 10).map(({ name, size, made_at }) => (
            <li key={name} class="row">
              <span>
                <strong>{name}</strong> {Math.ceil(size / 1024)} KiB, {clockTime(made_at)}
              </span>
              <Act
                label="Fetch"
                name={`Fetch ${name}`}
                kind="quiet"
                free
                onPress={() => download('fetchBackup', { path: { backup_name: name } })}
              />
            </li>
          ))}
        </ul>
      )}
    </Block>
  )
}

/** The addresses that are called when somebody is needed. */
function Messages() {
  const found = useAnswer('listNotifyReceivers')
  const receivers = found.value?.receivers ?? []
  const test = async () => {
    const answer = await ask('testNotify', {}, { quiet: true })
    const failed = answer?.receivers.filter(({ failure }) => failure !== null) ?? []
    if (answer)
      notice.value = { text: failed.map(({ host, failure }) => `${host}: ${failure}.`).join(' ') || 'All took it.', bad: failed.length > 0 }
    await found.read()
  }
  return (
    <Block title="Messages to people">
      {receivers.length === 0 ? (
        <Empty>Nobody is told when a person is needed: the configuration has no "notify". The guide “Care” says how to add it.</Empty>
      ) : (
        <>
          <Act label="Send a test message" onPress={test} />
          <ul class="list">
            {receivers.map(({ host, delivered_at, waiting, failure }) => (
              <li key={host}>
                <span>
                  <strong>{host}</strong> {delivered_at === null ? 'was never reached' : `took one at ${clockTime(delivered_at)}`}
                  {waiting > 0 && `, ${waiting} waiting`}
                </span>
                {failure && <small class="trouble long">{failure}</small>}
              </li>
            ))}
          </ul>
        </>
      )}
    </Block>
  )
}

function Audit() {
  const found = useAnswer('getAudit', { query: { limit: 20 } })
  const entries = [...(found.value?.entries ?? [])].reverse()
  return (
    <Block title="Who did what">
      <div class="row">
        <Act label="Look again" name="Look again who did what" free onPress={found.read} />
      </div>
      {entries.length === 0 ? (
        <Empty>Nobody has changed anything yet.</Empty>
      ) : (
        <ul class="list">
          {entries.map(({ file, seq, at, name, what, status, reason }) => (
            <li key={`${file} ${seq}`}>
              <span>
                <time>{clockTime(at)}</time> <strong>{name ?? 'nobody'}</strong> {what}{' '}
                <small>
                  {status}
                  {reason ? ` ${reason}` : ''}
                </small>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Block>
  )
}

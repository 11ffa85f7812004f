// The blocks for the doctor, the configuration, backups and messages.

import { useSignal } from '@preact/signals'
import type { Operations } from '../../clients/ts/benchd.ts'
import { Act, Block, Empty, useAnswer } from '../parts.tsx'
import { ask, download, mayAdminister, notice } from '../store.tsx'
import { Time } from '../time.tsx'

type Findings = Operations['examineSystem']['answer']

const levels: Record<string, { mark: string; tone: string }> = {
  OK: { mark: '✓', tone: 'good' },
  WARN: { mark: '▲', tone: 'bad' },
  FAIL: { mark: '✕', tone: 'bad' },
  SKIP: { mark: '○', tone: 'calm' },
}

export function Doctor() {
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
        <Act label="Download a support bundle" free onPress={() => download('fetchBundle')} />
        {found.value && (
          <button type="button" class="quiet" aria-pressed={showsAll.value} onClick={() => (showsAll.value = !showsAll.value)}>
            {showsAll.value ? 'Show problems only' : `Show all ${found.value.findings.length} checks`}
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

export function Configuration() {
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
        <Act label="Reload" name="Reload the configuration" onPress={reload} />
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

export function Backups() {
  const found = useAnswer('listBackups')
  const backups = found.value?.backups ?? []
  return (
    <Block title="Backups">
      <div class="row">
        <Act
          label="Create a backup"
          onPress={async () => {
            await ask('createBackup', { body: {} })
            await found.read()
          }}
        />
      </div>
      {backups.length === 0 ? (
        <Empty>There is no backup yet; the service makes one each day.</Empty>
      ) : (
        <ul class="list">
          {backups.slice(0, 10).map(({ name, size, made_at }) => (
            <li key={name} class="row">
              <span>
                <strong>{name}</strong> {Math.ceil(size / 1024)} KiB, <Time at={made_at} />
              </span>
              <Act
                label="Download"
                name={`Download ${name}`}
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

/** The words for the state of a plug-in. */
const pluginWords: Record<string, string> = {
  starting: 'is starting',
  running: 'runs',
  waiting: 'has ended and is started again soon',
  failed: 'has failed and is not started again',
  held: 'is kept from starting by safe mode',
  stopped: 'is stopped',
}

/** The plug-ins of the configuration; nothing without any. */
export function Plugins() {
  const found = useAnswer('listPlugins')
  const plugins = found.value?.plugins ?? []
  if (plugins.length === 0) return null
  const restart = async (name: string) => {
    await ask('restartPlugin', { path: { plugin_name: name } })
    await found.read()
  }
  return (
    <Block title="Plug-ins">
      <ul class="list">
        {plugins.map(({ name, state, layer, scope, events_handled, events_dropped, memory_mib, last_error }) => (
          <li key={name} class="row">
            <span>
              <strong>{name}</strong> {pluginWords[state]}, {layer === 'in_process' ? 'in the service' : 'in a process of its own'}, scope{' '}
              {scope}, {events_handled} events{events_dropped > 0 && `, ${events_dropped} dropped`}
              {memory_mib !== null && `, ${memory_mib} MiB`}
              {last_error && (
                <>
                  <br />
                  <small class="trouble long">{last_error}</small>
                </>
              )}
            </span>
            {mayAdminister.value && <Act label="Restart" name={`Restart the plug-in ${name}`} kind="quiet" onPress={() => restart(name)} />}
          </li>
        ))}
      </ul>
    </Block>
  )
}

/** The receivers of messages. */
export function Messages() {
  const found = useAnswer('listNotifyReceivers')
  const receivers = found.value?.receivers ?? []
  const test = async () => {
    const answer = await ask('testNotify', {}, { quiet: true })
    const failed = answer?.receivers.filter(({ failure }) => failure !== null) ?? []
    if (answer)
      notice.value = {
        text: failed.map(({ host, failure }) => `${host}: ${failure}.`).join(' ') || 'Every receiver accepted the test message.',
        bad: failed.length > 0,
      }
    await found.read()
  }
  return (
    <Block title="Notifications">
      {receivers.length === 0 ? (
        <Empty>Nobody is notified when a person is needed: the configuration has no "notify". The guide “Care” says how to add it.</Empty>
      ) : (
        <>
          <Act label="Send a test message" onPress={test} />
          <ul class="list">
            {receivers.map(({ host, delivered_at, waiting, failure }) => (
              <li key={host}>
                <span>
                  <strong>{host}</strong> {delivered_at === null ? 'has received no message yet' : 'received a message at '}
                  {delivered_at !== null && <Time at={delivered_at} />}
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

// The block for keys and the audit trail.

import { useSignal } from '@preact/signals'
import { Act, Block, Empty, Text, useAnswer } from '../parts.tsx'
import { ask } from '../store.tsx'
import { clockTime } from '../words.ts'

export function Keys() {
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
          why={name.value.trim() === '' ? 'Enter a name first.' : undefined}
          onPress={async () => {
            const answer = await ask('createKey', { body: { name: name.value.trim(), scope: wanted.value } }, { quiet: true })
            made.value = answer?.api_key
            await found.read()
          }}
        />
      </div>
      {made.value && (
        <p class="secret">
          Copy the key now. It is shown only once: <code>{made.value}</code>
        </p>
      )}
    </Block>
  )
}

export function Audit() {
  const found = useAnswer('getAudit', { query: { limit: 20 } })
  const entries = [...(found.value?.entries ?? [])].reverse()
  return (
    <Block title="Audit trail">
      <div class="row">
        <Act label="Refresh" name="Refresh the audit trail" free onPress={found.read} />
      </div>
      {entries.length === 0 ? (
        <Empty>Nobody has changed anything yet.</Empty>
      ) : (
        <ul class="list">
          {entries.map(({ file, seq, at, name, text, status }) => (
            <li key={`${file} ${seq}`}>
              <span>
                <time>{clockTime(at)}</time> <strong>{name ?? 'nobody'}</strong> {text} <small>{status}</small>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Block>
  )
}

// The block for keys.

import { useSignal } from '@preact/signals'
import { Act, Block, Text, useAnswer } from '../parts.tsx'
import { ask } from '../store.tsx'
import { Time } from '../time.tsx'

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
              <strong>{name}</strong> {key_id}, {scope}, {last_used_at ? 'used ' : 'never used'}
              {last_used_at && <Time at={last_used_at} />}
              {expires_at && (
                <>
                  , ends <Time at={expires_at} />
                </>
              )}
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

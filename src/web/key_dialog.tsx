// The dialog for the key of this browser, without a framework, as the page of the API uses it too.

import { benchd, init } from './command_here.tsx'

export type KeyDialog = {
  /** The sentence that says why a key is needed. */
  why: string
  /** Whether it is the page of a lab, which has no pairing. */
  isLab?: boolean
  /** Tries the key and stores a valid one. Resolves with the mistake, or an empty text. */
  connect(key: string): Promise<string>
}

/** Returns why a text cannot be a key; fetch would throw for other characters in a header. */
export function whyNoKey(key: string): string | undefined {
  return /^[\x21-\x7e]+$/.test(key) ? undefined : 'This is not a key: a key has no spaces and begins with bk_.'
}

type PairingRequest = { request_id: string; request_secret: string; code: string; detail?: string }

const poll_ms = 1500

export function keyDialog({ why, isLab = false, connect }: KeyDialog): HTMLFormElement {
  const input = made('input', { id: 'api-key', type: 'password', autocomplete: 'off', spellcheck: false, placeholder: 'bk_…' })
  const trouble = made('p', { className: 'trouble', role: 'alert', textContent: why })
  const said = made('p', { className: 'hint', role: 'status' })
  const access = made('button', { type: 'button', className: 'plain', textContent: 'Request access' })
  const title = `Connect to the ${isLab ? 'lab' : 'bench'}`
  const submit = made('button', { type: 'submit', className: 'main', textContent: 'Connect' })
  const form = made('form', { className: 'key-dialog', ariaLabel: title }, [
    made('h2', { textContent: title }),
    made('label', { htmlFor: 'api-key', textContent: 'API key' }),
    input,
    trouble,
    made('div', { className: 'row' }, isLab ? [submit] : [submit, access]),
    said,
    made('p', { className: 'hint' }, ['The key is saved in this browser. ', ...(isLab ? howAtLab() : howAtBench())]),
  ])
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    trouble.textContent = await connect(input.value.trim())
    if (trouble.textContent) input.select()
  })
  access.addEventListener('click', async () => {
    access.disabled = true
    try {
      const asked = await askForAccess()
      said.textContent = `Your code is ${asked.code}. Approve the request at the bench (System), or with: ${benchd} key approve ${asked.code}`
      const key = await approved(asked, () => form.isConnected)
      if (key) await connect(key)
    } catch (error) {
      said.textContent = error instanceof Error && error.message ? error.message : 'The service does not answer; try again.'
    } finally {
      access.disabled = false
    }
  })
  return form
}

function howAtBench(): (Node | string)[] {
  const create = made('code', { textContent: `${benchd} key create --name browser --scope operate` })
  return ['Create one at the bench: ', create, '. On a new bench ', made('code', { textContent: init }), ' makes the first key.']
}

function howAtLab(): (Node | string)[] {
  const create = `${benchd} key create --name browser --scope operate --data-dir /var/lib/benchd-lab`
  return ['Create one on the computer of the coordinator: ', made('code', { textContent: create }), '.']
}

async function askForAccess(): Promise<PairingRequest> {
  const answer = await fetch('/api/keys/requests', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ app_name: `browser on ${navigator.platform || 'a computer'}`.slice(0, 60), scope: 'operate' }),
  })
  const body = (await answer.json()) as PairingRequest
  if (!answer.ok) throw new Error(body.detail)
  return body
}

/** Resolves with the key after its approval; with undefined if the dialog is gone by then. */
async function approved({ request_id, request_secret }: PairingRequest, isAsked: () => boolean): Promise<string | undefined> {
  while (isAsked()) {
    await new Promise((resolve) => setTimeout(resolve, poll_ms))
    const answer = await fetch(`/api/keys/requests/${request_id}`, { headers: { 'X-Request-Secret': request_secret } })
    const { api_key } = (await answer.json()) as { api_key?: string }
    if (api_key) return api_key
    if (!answer.ok) throw new Error('The request was denied, or nobody decided within ten minutes. Request access again.')
  }
  return undefined
}

function made<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  members: Partial<HTMLElementTagNameMap[Tag]>,
  children: readonly (Node | string)[] = [],
): HTMLElementTagNameMap[Tag] {
  const element = Object.assign(document.createElement(tag), members)
  element.append(...children)
  return element
}

// The key of this browser: kept in its local storage, asked for when there is none or the service refuses it.

import { keyDialog } from '../key_dialog.js'

const place = 'benchd.api_key'

/** The service refuses the key. */
export class KeyRefused extends Error {}

/** The key, or nothing. */
export function storedKey() {
  return localStorage.getItem(place) ?? ''
}

export function forgetKey() {
  localStorage.removeItem(place)
}

/** A request with the key. Throws `KeyRefused` when that is not good, and what `fetch` throws when nobody answers. */
export async function request(path, { headers, ...options } = {}) {
  const answer = await fetch(path, { cache: 'no-store', ...options, headers: { ...headers, 'X-API-Key': storedKey() } })
  if (answer.status === 401 || answer.status === 429) throw new KeyRefused(await detailOf(answer))
  return answer
}

/** The sentence of an error's answer. */
export async function detailOf(answer) {
  const body = await answer.json().catch(() => undefined)
  return body?.detail ?? `the service answered ${answer.status}`
}

/** Shows the dialog in that place, says why, and resolves when a key that is good has been given and stored. On the page of a lab it says how a key is made there. */
export function askForKey(place, why, isLab) {
  return new Promise((resolve) => {
    const connect = async (key) => {
      const trouble = await tryKey(key)
      if (trouble) return trouble
      place.replaceChildren()
      resolve()
      return ''
    }
    const dialog = keyDialog({ why, isLab, connect })
    place.replaceChildren(dialog)
    dialog.querySelector('input').focus()
  })
}

async function tryKey(key) {
  // A header takes nothing else; fetch would throw.
  if (!/^[\x21-\x7e]+$/.test(key)) return 'This is not a key: it has no spaces and begins with bk_.'
  const before = storedKey()
  localStorage.setItem(place, key)
  try {
    const { ok, status } = await request('api/system/whoami')
    if (ok) return ''
    localStorage.setItem(place, before)
    return `The service answered ${status}; try again.`
  } catch (error) {
    localStorage.setItem(place, before)
    return error instanceof KeyRefused ? 'This key is wrong, expired or revoked; try another.' : 'The service does not answer; try again.'
  }
}

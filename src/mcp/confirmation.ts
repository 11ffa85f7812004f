// Asks the person before a call that moves, heats or decides: by a form of the client, or by a code that only the bench shows.

import { randomUUID } from 'node:crypto'
import { messageOf } from '../errors.ts'
import { type AskBench, detailIn, type Request } from './bench_link.ts'
import { visibleJson, visibleText } from './untrusted.ts'

/** A call that a person is asked about. */
export type Asked = { title: string; args: Readonly<Record<string, unknown>>; request: Request }

/** `by` is for the audit trail. `waits` is the text for the model while the code is missing, `refused` why nothing is done. */
export type Verdict = { by: string } | { waits: object } | { refused: string }

type Options = {
  /** The name of the client, as it calls itself. */
  client(): string
  /** Shows the person a message with a box to tick; undefined where the client has no forms. Rejects without an answer. */
  form?: ((message: string) => Promise<'confirmed' | 'declined'>) | undefined
}

/** A longer call cannot be shown to a person whole, in characters. */
const longestShown = 2000
/** Calls that wait for their code at once, of one session. */
const mostWaiting = 4

export class Confirmations {
  /** The calls that wait for a code, by the id of the confirmation. */
  readonly #waiting = new Map<string, Asked>()

  /** Asks about one call. The confirmation holds for exactly this call, once. */
  async ask(asked: Asked, ask: AskBench, { client, form }: Options): Promise<Verdict> {
    const call = visibleJson(asked.args)
    if (call.length > longestShown)
      return {
        refused: `the parameters are longer than ${longestShown} characters, so nobody could check them; do this on the page or with benchd`,
      }
    const text = `${asked.title}: ${call}`
    if (form) return this.#byForm(`"${visibleText(client())}" asks the bench to do this. ${text}`, form)
    return this.#byCode(asked, text, ask)
  }

  /** Takes the code that the person read at the bench. Returns the call that it confirms. */
  async take(confirmation_id: string, code: string, ask: AskBench): Promise<{ asked: Asked; by: string } | { refused: string }> {
    const asked = this.#waiting.get(confirmation_id)
    if (!asked) return { refused: 'there is no such confirmation; call the tool again' }
    // Taken out at once, so that two answers at the same time do not perform the call twice.
    this.#waiting.delete(confirmation_id)
    const path = `/api/confirmations/${encodeURIComponent(confirmation_id)}/check`
    const { status, body } = await ask({ method: 'POST', path, body: { code } })
    if (status === 200) return { asked, by: `code ${confirmation_id}` }
    // A wrong code may be mistyped: the bench says 403 while it takes another one.
    if (status === 403) this.#waiting.set(confirmation_id, asked)
    return { refused: detailIn(body) ?? `the bench answered ${status}` }
  }

  async #byForm(message: string, form: NonNullable<Options['form']>): Promise<Verdict> {
    try {
      const verdict = await form(message)
      return verdict === 'confirmed' ? { by: `form ${randomUUID()}` } : { refused: 'the person did not confirm it; nothing was done' }
    } catch (error) {
      return { refused: `the person was not asked, or did not answer: ${messageOf(error)}; nothing was done` }
    }
  }

  async #byCode(asked: Asked, text: string, ask: AskBench): Promise<Verdict> {
    if (this.#waiting.size >= mostWaiting) this.#waiting.delete(this.#waiting.keys().next().value!)
    const { status, body } = await ask({ method: 'POST', path: '/api/confirmations', body: { text } })
    if (status !== 201) return { refused: detailIn(body) ?? `the bench answered ${status} when it was to show a code` }
    const { confirmation_id, expires_at } = JSON.parse(body) as { confirmation_id: string; expires_at: number }
    this.#waiting.set(confirmation_id, asked)
    const next =
      'A person has to confirm this call. The page of the bench and `benchd status` show a code beside it. Ask the person for that code, then call `confirm` with it.'
    return { waits: { needs_confirmation: { confirmation_id, expires_at, next } } }
  }
}

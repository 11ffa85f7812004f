// Confirmations: a program asks to do something for which a person has to be asked. The bench shows a code to people, and the program has to
// learn that code from one of them.

import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import { described } from '../kit/described.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'
import { newCode, sameCode } from './code.ts'

const UnixSeconds = described(v.number(), 'Unix time', 's')

export const ConfirmationWish = v.strictObject({
  text: described(
    v.pipe(
      v.string(),
      v.nonEmpty(),
      v.maxLength(3000),
      v.regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u, 'must have no control characters and no characters that nobody sees'),
    ),
    'The whole request, as the person is to check it',
  ),
})

/** A request for a confirmation, as people see it. */
export const ShownConfirmation = v.strictObject({
  confirmation_id: v.string(),
  text: described(v.string(), 'The request of the program, in its own words'),
  name: described(v.string(), 'The name of the key of the program'),
  client: described(v.nullable(v.string()), 'The name that the program gives itself; nobody has checked it'),
  code: described(v.nullable(v.string()), 'The code to tell the program; null for the key that asks, which must not see it'),
  expires_at: UnixSeconds,
})
export type ShownConfirmation = v.InferOutput<typeof ShownConfirmation>

export const ConfirmationAnswer = v.strictObject({ confirmation_id: v.string(), expires_at: UnixSeconds })
export type ConfirmationAnswer = v.InferOutput<typeof ConfirmationAnswer>

export const Code = v.strictObject({ code: described(v.pipe(v.string(), v.maxLength(40)), 'The code, in any case of letters') })

/** The holder of a key that asks. `key_id` is `local` for everybody at the control socket. */
type Asker = { key_id: string; name: string; client: string | null }
type Pending = Omit<ShownConfirmation, 'code'> & { code: string; key_id: string; ends: number; wrong: number }

/** Confirmations that wait at once: in all, and of one key. */
const most = { all: 16, ofKey: 4 }
const lasts_s = 120
const mostWrong = 3
/** Requests of one key: those who guess codes get three guesses for each. */
const requests = { burst: 10, perSecond: 1 / 6 }

export class Confirmations {
  readonly #clock: Clock
  readonly #now: () => number
  readonly #pending = new Map<string, Pending>()
  readonly #rate: TokenBuckets

  /** `now` in Unix seconds. */
  constructor({ clock = systemClock, now = () => Date.now() / 1000 }: { clock?: Clock; now?: () => number } = {}) {
    this.#clock = clock
    this.#now = now
    this.#rate = new TokenBuckets({ ...requests, now: () => clock.now() })
  }

  /** Asks people. The oldest request of a key gives way to its newest. Throws `overloaded` for too many requests. */
  request(text: string, { key_id, name, client }: Asker): ConfirmationAnswer {
    if (!this.#rate.take(key_id))
      throw new LabError('overloaded', 'this key asks for too many confirmations; ask again in a few seconds', { retry_after_s: 6 })
    const mine = this.#all().filter((one) => one.key_id === key_id)
    if (mine.length >= most.ofKey) this.#pending.delete(mine[0]!.confirmation_id)
    if (this.#pending.size >= most.all)
      throw new LabError('overloaded', `${most.all} confirmations wait already; ask again in a minute`, { retry_after_s: 60 })
    const answer = { confirmation_id: randomUUID(), expires_at: this.#now() + lasts_s }
    const ends = this.#clock.now() + lasts_s * 1000
    this.#pending.set(answer.confirmation_id, { ...answer, text, name, client, code: newCode(), key_id, ends, wrong: 0 })
    return answer
  }

  /** Lists the confirmations that wait, for the holder of this key. At the control socket everybody sees the codes. */
  list(key_id: string): ShownConfirmation[] {
    return this.#all().map(({ key_id: its, ends: _, wrong: __, code, ...shown }) => ({
      ...shown,
      code: its === key_id && key_id !== 'local' ? null : code,
    }))
  }

  /** Uses a confirmation up. Throws `not_found` for none of this key, and `forbidden` for a wrong code; the third wrong code ends it. */
  check(confirmation_id: string, code: string, key_id: string): void {
    const pending = this.#all().find((one) => one.confirmation_id === confirmation_id && one.key_id === key_id)
    if (!pending) throw gone()
    const isRight = sameCode(code, pending.code)
    pending.wrong++
    if (isRight || pending.wrong >= mostWrong) this.#pending.delete(confirmation_id)
    if (isRight) return
    if (pending.wrong >= mostWrong)
      throw new LabError('not_found', 'this was the third wrong code, so the confirmation has ended; ask anew')
    throw new LabError('forbidden', 'the code is not the one that the bench shows beside this request; ask the person to read it again')
  }

  /** Ends a confirmation: the person does not want it. Throws `not_found`. */
  deny(confirmation_id: string): void {
    if (!this.#all().some((one) => one.confirmation_id === confirmation_id)) throw gone()
    this.#pending.delete(confirmation_id)
  }

  #all(): Pending[] {
    for (const [confirmation_id, { ends }] of this.#pending) if (this.#clock.now() >= ends) this.#pending.delete(confirmation_id)
    return [...this.#pending.values()]
  }
}

function gone(): LabError {
  return new LabError('not_found', 'there is no such confirmation: it was used, denied, or two minutes have passed; ask anew')
}

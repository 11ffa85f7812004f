// The leases of devices. They outlast a restart, for a person who has their hands in a machine counts on a lease.

import * as v from 'valibot'
import { JsonFile, type Report } from '../kit/json_file.ts'

/** `ttl_s` is how long it was given for, `expires_at` the Unix time at which it ends. */
export const Lease = v.strictObject({
  key_id: v.string(),
  owner: v.string(),
  note: v.nullable(v.string()),
  ttl_s: v.number(),
  expires_at: v.number(),
})
export type Lease = v.InferOutput<typeof Lease>
const Content = v.strictObject({ leases: v.record(v.string(), Lease) })
type Content = v.InferOutput<typeof Content>

/** The place where a device keeps who has leased it. */
export type LeaseStore = Pick<Leases, 'get' | 'set' | 'isOver'>

export class Leases {
  readonly #file: JsonFile<Content>
  /** Whether a key opens nothing any more: its leases end with it. */
  readonly #isKeyOver: (key_id: string) => boolean

  static async open(folder: string, report: Report, isKeyOver: (key_id: string) => boolean): Promise<Leases> {
    const path = `${folder}/leases.json`
    return new Leases(await JsonFile.open({ path, format: 1, schema: Content, empty: { leases: {} }, report }), isKeyOver)
  }

  private constructor(file: JsonFile<Content>, isKeyOver: (key_id: string) => boolean) {
    this.#file = file
    this.#isKeyOver = isKeyOver
  }

  /** Whether it has ended before its time. */
  isOver({ key_id }: Lease): boolean {
    return this.#isKeyOver(key_id)
  }

  get(device_id: string): Lease | undefined {
    const { leases } = this.#file.content
    return Object.hasOwn(leases, device_id) ? leases[device_id] : undefined
  }

  /** Resolves when it is on the card, and that there is none if undefined. Rejects with `storage`. */
  async set(device_id: string, lease: Lease | undefined): Promise<void> {
    await this.#file.change((content) => {
      const { [device_id]: before, ...others } = content.leases
      if (lease === undefined && before === undefined) return content
      return { leases: lease ? { ...others, [device_id]: lease } : others }
    })
  }
}

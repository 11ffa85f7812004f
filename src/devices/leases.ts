// The leases of devices. They survive a restart, because a person with their hands in a machine relies on a lease.

import * as v from 'valibot'
import { JsonFile, type Report } from '../kit/json_file.ts'

/** `ttl_s` is the granted time, `expires_at` the Unix time at which the lease ends. */
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

/** The store of a device's lease. */
export type LeaseStore = Pick<Leases, 'get' | 'set' | 'isOver'>

export class Leases {
  readonly #file: JsonFile<Content>
  /** Whether a key has ended; its leases end with it. */
  readonly #isKeyOver: (key_id: string) => boolean

  static async open(folder: string, report: Report, isKeyOver: (key_id: string) => boolean): Promise<Leases> {
    const path = `${folder}/leases.json`
    return new Leases(await JsonFile.open({ path, format: 1, schema: Content, empty: { leases: {} }, report }), isKeyOver)
  }

  private constructor(file: JsonFile<Content>, isKeyOver: (key_id: string) => boolean) {
    this.#file = file
    this.#isKeyOver = isKeyOver
  }

  /** Whether the lease has ended before its time. */
  isOver({ key_id }: Lease): boolean {
    return this.#isKeyOver(key_id)
  }

  get(device_id: string): Lease | undefined {
    const { leases } = this.#file.content
    return Object.hasOwn(leases, device_id) ? leases[device_id] : undefined
  }

  /** Stores the lease, or without one its end. Rejects with `storage`. */
  async set(device_id: string, lease: Lease | undefined): Promise<void> {
    await this.#file.change((content) => {
      const { [device_id]: before, ...others } = content.leases
      if (lease === undefined && before === undefined) return content
      return { leases: lease ? { ...others, [device_id]: lease } : others }
    })
  }
}

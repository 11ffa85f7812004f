// Parks idle labware that is in the way: it waits for nothing, so that no cycle contains it.

import type { Advice } from './advice.ts'
import { type Claimant, DeviceSites, type Resource, type Ticket, type Zone } from './model.ts'
import type { Parking } from './parking.ts'
import type { Ranked } from './ranked_queue.ts'

export class Idlers {
  readonly #parking: Parking
  readonly #advice: Advice
  /** The tickets that idle claimants keep from a nest while there is no position to park them. */
  readonly #blocked = new Set<Ticket>()

  constructor(parking: Parking, advice: Advice) {
    this.#parking = parking
    this.#advice = advice
  }

  /** Parks idle claimants in the way of this one; if it is idle itself, those in the way of all that want its place. Returns whether there was one. */
  clearWay(claimant: Claimant): boolean {
    const { ticket, placement } = claimant
    if (!ticket) return false
    if (!ticket.isIdle) return this.#clearFor(ticket)
    for (const { claimant: other } of placement ? wanting(placement.zone) : [])
      if (other.ticket && this.#clearFor(other.ticket)) return true
    return false
  }

  /** Parks idle claimants in a nest that another one wants, which otherwise may stay there for ever. */
  #clearFor(ticket: Ticket): boolean {
    this.#blocked.delete(ticket)
    if (ticket.state !== 'waiting') return false
    if (ticket.claimant.hurries) this.#blocked.add(ticket)
    for (const resource of ticket.resources) {
      const idlers = this.#idlersIn(resource, ticket)
      if (!idlers) continue
      let count = 0
      for (const idler of idlers) if (this.#parking.park(idler)) count++
      if (count < idlers.length) this.#blocked.add(ticket)
      return count > 0
    }
    return false
  }

  /** Returns the idle claimants that alone are in the way; undefined if anything else is. For a thread with a deadline all claimants that wait there count as idle. */
  #idlersIn(resource: Resource, { claimant, inputs }: Ticket): Ticket[] | undefined {
    if (!(resource instanceof DeviceSites) && !resource.device) return undefined
    const idlers: Ticket[] = []
    let isAll = true
    resource.isClosedTo(claimant, inputs, (reason, by, placement) => {
      if (
        reason === 'occupied' &&
        by?.ticket &&
        (by.ticket.isIdle || (claimant.hurries && !this.#advice.has(claimant.thread_id))) &&
        this.#parking.canPark(by.ticket) &&
        !placement?.routeGrant
      )
        idlers.push(by.ticket)
      else isAll = false
    })
    return isAll && idlers.length > 0 ? idlers : undefined
  }

  /** Tries again where there was no position to park an idle claimant. */
  clearAgain(): boolean {
    for (const ticket of [...this.#blocked]) if (this.#clearFor(ticket)) return true
    return false
  }
}

/** All that request a zone, its device, or a route through it. */
export function* wanting({ wanted, device, passers }: Zone): Generator<Ranked & { claimant: Claimant }> {
  yield* wanted
  if (device) yield* device.wanted
  yield* passers
}

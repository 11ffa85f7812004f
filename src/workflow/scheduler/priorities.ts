// The priorities of the submissions that are open on a bench, and how they age: each hour in which a submission of a higher priority is open counts as one
// step of priority. So a run waits for urgent ones that come over and over for as many hours as their priority is higher, and then goes before them.

const hour_ms = 3_600_000

/** Waiting requests are ranked anew when a priority has aged by this part of a step. */
const rough = 0.1

type Submission = { readonly priority: number; readonly aged_ms: number; readonly threads: number }

export class Priorities {
  readonly #now: () => number
  readonly #submissions = new Map<string, Submission>()
  /** The submission of each thread. */
  readonly #of = new Map<string, string>()
  #top = Number.NEGATIVE_INFINITY
  /** Until when the ages are counted, in ms. */
  #until = 0
  /** Until when the waiting requests are ranked; undefined if they must be ranked anew. */
  #ranked: number | undefined
  /** Whether some submission is more important than another. */
  differ = false

  /** `now` returns the time in ms. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Notes a thread that has begun. */
  join(thread_id: string, submission_id: string, priority: number): void {
    const known = this.#submissions.get(submission_id)
    this.#of.set(thread_id, submission_id)
    if (known) this.#submissions.set(submission_id, { ...known, threads: known.threads + 1 })
    else this.#change(submission_id, { priority, aged_ms: 0, threads: 1 })
  }

  /** Notes a thread that has ended. */
  leave(thread_id: string): void {
    const submission_id = this.#of.get(thread_id)
    const known = submission_id === undefined ? undefined : this.#submissions.get(submission_id)
    this.#of.delete(thread_id)
    if (submission_id === undefined || !known) return
    if (known.threads > 1) this.#submissions.set(submission_id, { ...known, threads: known.threads - 1 })
    else this.#change(submission_id, undefined)
  }

  /** Gives an open submission another priority. It keeps its age. */
  set(submission_id: string, priority: number): void {
    this.#age()
    const known = this.#submissions.get(submission_id)
    if (known) this.#change(submission_id, { ...known, priority })
  }

  /** Returns the priority of a thread in steps, with its age; 0 for an unknown thread. */
  of(thread_id: string): number {
    const submission_id = this.#of.get(thread_id)
    if (submission_id === undefined) return 0
    this.#age()
    const { priority, aged_ms } = this.#submissions.get(submission_id)!
    return priority + aged_ms / hour_ms
  }

  /** Whether waiting requests must be ranked anew. From then on they count as ranked. */
  mustRank(): boolean {
    if (this.#ranked !== undefined && !this.differ) return false
    const now = this.#now()
    if (this.#ranked !== undefined && now - this.#ranked < rough * hour_ms) return false
    this.#ranked = now
    return true
  }

  #change(submission_id: string, submission: Submission | undefined): void {
    this.#age()
    if (submission) this.#submissions.set(submission_id, submission)
    else this.#submissions.delete(submission_id)
    const wereDifferent = this.differ
    const all = [...this.#submissions.values()]
    const [first] = all
    this.#top = Math.max(...all.map(({ priority }) => priority))
    this.differ = all.some(({ priority, aged_ms }) => priority !== first!.priority || aged_ms !== first!.aged_ms)
    if (this.differ || wereDifferent) this.#ranked = undefined
  }

  /** Counts the time since the ages were counted last. */
  #age(): void {
    const now = this.#now()
    const passed_ms = now - this.#until
    this.#until = now
    if (passed_ms <= 0 || !this.differ) return
    for (const [submission_id, one] of this.#submissions)
      if (one.priority < this.#top) this.#submissions.set(submission_id, { ...one, aged_ms: one.aged_ms + passed_ms })
  }
}

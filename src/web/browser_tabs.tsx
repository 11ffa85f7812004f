// The tabs of a browser share six connections. Beyond three visible tabs the older ones poll, so that a stop always finds a free connection.

const streaming = 3
const tell_ms = 1000
const gone_ms = 3500

type Word = { id: string; shownAt: number } | { id: string; gone: true }

/** Decides whether this tab polls, and calls `onChange` when that changes. */
export class Tabs {
  readonly #id = crypto.randomUUID?.() ?? String(Math.random())
  readonly #channel: BroadcastChannel | undefined
  readonly #others = new Map<string, { shownAt: number; heardAt: number }>()
  readonly #onChange: () => void
  #shownAt = Date.now()
  #polls = false

  constructor(onChange: () => void) {
    this.#onChange = onChange
    if (typeof BroadcastChannel === 'undefined') return
    this.#channel = new BroadcastChannel('benchd.tabs')
    this.#channel.onmessage = ({ data }: MessageEvent<Word>) => {
      const isNew = !this.#others.has(data.id)
      if ('gone' in data) this.#others.delete(data.id)
      else this.#others.set(data.id, { shownAt: data.shownAt, heardAt: performance.now() })
      if (isNew && !document.hidden) this.#tell()
      this.#decide()
    }
    document.addEventListener('visibilitychange', () => {
      this.#shownAt = Date.now()
      this.#tell()
    })
    addEventListener('pagehide', () => this.#channel?.postMessage({ id: this.#id, gone: true } satisfies Word))
    setInterval(() => {
      this.#tell()
      for (const [id, { heardAt }] of this.#others) if (performance.now() - heardAt > gone_ms) this.#others.delete(id)
      this.#decide()
    }, tell_ms)
    this.#tell()
  }

  get polls(): boolean {
    return this.#polls
  }

  #tell(): void {
    this.#channel?.postMessage((document.hidden ? { id: this.#id, gone: true } : { id: this.#id, shownAt: this.#shownAt }) satisfies Word)
  }

  #decide(): void {
    const newer = [...this.#others].filter(([id, { shownAt }]) => shownAt > this.#shownAt || (shownAt === this.#shownAt && id > this.#id))
    const polls = newer.length >= streaming
    if (polls === this.#polls) return
    this.#polls = polls
    this.#onChange()
  }
}

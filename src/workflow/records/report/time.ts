// Words times in the zone of the bench at which the run was.

/** The length of a span in which the offset of a zone is taken to be the same. */
const span_s = 900
/** The most offsets in memory. */
const mostOffsets = 10_000

export class ZonedTime {
  /** The IANA name of the zone. */
  readonly zone: string
  readonly #format: Intl.DateTimeFormat
  /** Keyed by span: the offset in minutes. */
  #offsets = new Map<number, number>()

  /** A zone that this computer does not know is replaced by UTC. */
  constructor(zone: string | null) {
    const { format, name } = formatOf(zone)
    this.#format = format
    this.zone = name
  }

  /** Returns `2026-01-31 09:00:05`. */
  words(at: number | null | undefined): string {
    if (!isTime(at)) return '–'
    return new Date((at + this.#offset_min(at) * 60) * 1000).toISOString().slice(0, 19).replace('T', ' ')
  }

  /** Returns `2026-01-31T09:00:05.250+01:00`. */
  iso(at: number | null | undefined): string {
    if (!isTime(at)) return ''
    const offset_min = this.#offset_min(at)
    return `${new Date((at + offset_min * 60) * 1000).toISOString().slice(0, 23)}${offsetWords(offset_min)}`
  }

  /** Returns the seconds that a clock of the zone shows, from which marks at whole hours are found. */
  local(at: number): number {
    return at + this.#offset_min(at) * 60
  }

  /** Names the zone with its offset: `Europe/Zurich, UTC+01:00`; with both offsets if it changed meanwhile. */
  name(from: number, to: number): string {
    const offsets = [from, to].filter(isTime).map((at) => `UTC${offsetWords(this.#offset_min(at))}`)
    return [this.zone, [...new Set(offsets)].join(', then ')].filter(Boolean).join(', ')
  }

  #offset_min(at: number): number {
    const span = Math.floor(at / span_s)
    const known = this.#offsets.get(span)
    if (known !== undefined) return known
    if (this.#offsets.size >= mostOffsets) this.#offsets.clear()
    const start = new Date(span * span_s * 1000)
    const parts = Object.fromEntries(this.#format.formatToParts(start).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts
    const offset_min = Math.round((Date.UTC(year, month - 1, day, hour, minute) - start.getTime()) / 60_000)
    this.#offsets.set(span, offset_min)
    return offset_min
  }
}

/** The year 10000, beyond which a date has another form. */
const beyond = 253_402_300_000

function isTime(at: number | null | undefined): at is number {
  return typeof at === 'number' && at > 0 && at < beyond
}

function formatOf(zone: string | null): { format: Intl.DateTimeFormat; name: string } {
  const options = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', hourCycle: 'h23' } as const
  try {
    const format = new Intl.DateTimeFormat('en', { ...options, ...(zone && { timeZone: zone }) })
    return { format, name: format.resolvedOptions().timeZone }
  } catch {
    return { format: new Intl.DateTimeFormat('en', { ...options, timeZone: 'UTC' }), name: 'UTC' }
  }
}

function offsetWords(offset_min: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const [size, sign] = [Math.abs(offset_min), offset_min < 0 ? '-' : '+']
  return `${sign}${two(size / 60)}:${two(size % 60)}`
}

/** Words a span of time: `5.2 s`, `2:05`, `1:02:05`. */
export function spanWords(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '–'
  if (seconds < 60) return `${Math.round(seconds * 10) / 10} s`
  const whole = Math.round(seconds)
  const two = (value: number) => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}${hours > 0 ? ' h' : ' min'}`
}

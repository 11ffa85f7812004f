// The database of the coordinator: journeys with their states, custody of labware, and claimed hand-over positions.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { LabError, messageOf } from '../errors.ts'
import type { BenchRun, Holder, JourneyState } from './state.ts'

/** The number of the advisory lock that makes a process the coordinator; arbitrary. */
const lockNumber = 0x62656e63
/** Attempts to take the lock. */
const mostTries = 20
const again_ms = 100
/**
 * How often the connection with the lock is tested, and how long an answer may take. TCP reports only after minutes that the other end has
 * vanished; by then PostgreSQL may have given the lock to another coordinator. A PostgreSQL that is only busy answers within that time.
 */
const usualPings = { every_ms: 5000, within_ms: 10_000 }
/** The most old journeys that are removed in one transaction. */
const mostAtOnce = 500
const holders = 'SELECT DISTINCT ON (labware) * FROM benchd_lab.custody ORDER BY labware, number DESC'
const schema = `
  CREATE SCHEMA IF NOT EXISTS benchd_lab;
  CREATE TABLE IF NOT EXISTS benchd_lab.journey (
    number bigserial PRIMARY KEY, journey_id text NOT NULL UNIQUE, name text NOT NULL, labware text NOT NULL, status text NOT NULL,
    state jsonb NOT NULL, decision jsonb, begun_at double precision NOT NULL, ended_at double precision);
  CREATE UNIQUE INDEX IF NOT EXISTS one_journey_per_labware ON benchd_lab.journey (labware) WHERE ended_at IS NULL;
  CREATE TABLE IF NOT EXISTS benchd_lab.custody (
    labware text NOT NULL, number integer NOT NULL, holder jsonb NOT NULL, journey_id text NOT NULL, at double precision NOT NULL,
    PRIMARY KEY (labware, number));
  CREATE TABLE IF NOT EXISTS benchd_lab.claim (spot text PRIMARY KEY, journey_id text NOT NULL);
  CREATE TABLE IF NOT EXISTS benchd_lab.withdrawal (submission_id text PRIMARY KEY, journey_id text NOT NULL, run jsonb NOT NULL);
  DELETE FROM benchd_lab.claim WHERE journey_id IN (SELECT journey_id FROM benchd_lab.journey WHERE ended_at IS NOT NULL);
`

export type JourneyRow = {
  number: number
  journey_id: string
  name: string
  labware: string
  status: 'queued' | 'open' | 'done' | 'ended'
  state: JourneyState
  decision: Decision | null
  begun_at: number
  ended_at: number | null
}

/** The decision of a person about a journey; `step` is the number of the state that the person saw. */
export type Decision = {
  number: number
  step: number
  verb: 'retry' | 'done' | 'back' | 'lost' | 'end'
  position?: string | undefined
  by: string
}

export type CustodyRow = { labware: string; number: number; holder: Holder; journey_id: string; at: number }

export class Store {
  /** The connections, for DBOS too. */
  readonly pool: pg.Pool
  readonly #lock: pg.Client
  /** Resolves with a sentence when the database is gone. Another coordinator may have started then. */
  readonly gone: Promise<string>

  /** Rejects with `disconnected` where there is no database, and with `in_use` where another coordinator has it. */
  static async open(url: string, pings = usualPings): Promise<Store> {
    const lock = clientOf(url)
    const ended = new Promise<string>((resolve) => {
      lock.on('error', (error) => resolve(messageOf(error)))
      lock.on('end', () => resolve('the connection has ended'))
    })
    try {
      await lock.connect()
      await lock.query("SET search_path TO ''")
    } catch (error) {
      throw new LabError('disconnected', `PostgreSQL does not answer at ${shown(url)}: ${messageOf(error)}`)
    }
    if (!(await isLocked(lock))) {
      await lock.end()
      throw new LabError(
        'in_use',
        `another coordinator works with the database ${shown(url)}; a lab has one: end the other, or name another database`,
      )
    }
    await lock.query(schema)
    return new Store(url, lock, Promise.race([ended, silence(lock, pings)]))
  }

  private constructor(url: string, lock: pg.Client, gone: Promise<string>) {
    this.pool = new pg.Pool({ connectionString: url, max: 16, connectionTimeoutMillis: 5000 })
    // The connection with the lock reports the loss of the database.
    this.pool.on('error', () => undefined)
    this.#lock = lock
    this.gone = gone
  }

  /** Adds a journey, unless one with this id is there already. Throws `conflict` where the labware is on another journey. */
  async add(row: Pick<JourneyRow, 'journey_id' | 'name' | 'labware' | 'state' | 'begun_at'>): Promise<void> {
    const { journey_id, name, labware, state, begun_at } = row
    const known = await this.find(journey_id)
    if (known && known.name === name && known.labware === labware) return
    if (known)
      throw new LabError('conflict', `the journey ${journey_id} is another one, ${known.name} of ${known.labware}; choose another id`)
    try {
      await this.#asked(
        "INSERT INTO benchd_lab.journey (journey_id, name, labware, status, state, begun_at) VALUES ($1, $2, $3, 'queued', $4, $5)",
        [journey_id, name, labware, jsonOf(state), begun_at],
      )
    } catch (error) {
      if ((error as { constraint?: string }).constraint !== 'one_journey_per_labware') throw error
      throw new LabError('conflict', `the labware ${labware} is on a journey already; /api/lab/journeys shows it`, { cause: error })
    }
  }

  async find(journey_id: string): Promise<JourneyRow | undefined> {
    return (await this.#rows<JourneyRow>('SELECT * FROM benchd_lab.journey WHERE journey_id = $1', [journey_id]))[0]
  }

  /** Lists the journeys that have not ended, the oldest first. */
  open(): Promise<JourneyRow[]> {
    return this.#rows<JourneyRow>('SELECT * FROM benchd_lab.journey WHERE ended_at IS NULL ORDER BY number')
  }

  async firstQueued(): Promise<string | undefined> {
    const text = "SELECT journey_id FROM benchd_lab.journey WHERE status = 'queued' ORDER BY number LIMIT 1"
    return (await this.#rows<{ journey_id: string }>(text))[0]?.journey_id
  }

  /** Finds the journeys whose id begins with the name or whose labware has the name, the newest first. */
  named(name: string, limit: number): Promise<JourneyRow[]> {
    const text = 'SELECT * FROM benchd_lab.journey WHERE starts_with(journey_id, $1) OR labware = $1 ORDER BY number DESC LIMIT $2'
    return this.#rows<JourneyRow>(text, [name, limit])
  }

  /** The newest first. */
  newest(limit: number): Promise<JourneyRow[]> {
    return this.#rows<JourneyRow>('SELECT * FROM benchd_lab.journey ORDER BY number DESC LIMIT $1', [limit])
  }

  /** Stores the state of a journey. A journey that ends releases its positions. */
  async keep(journey_id: string, status: JourneyRow['status'], state: JourneyState, ended_at: number | null): Promise<void> {
    await this.#asked(
      `WITH freed AS (DELETE FROM benchd_lab.claim WHERE journey_id = $1 AND $4::double precision IS NOT NULL)
        UPDATE benchd_lab.journey SET status = $2, state = $3, ended_at = $4 WHERE journey_id = $1`,
      [journey_id, status, jsonOf(state), ended_at],
    )
  }

  /** Gives the decision the next number of its journey. Returns whether the journey is still in the state that the decision is about. */
  async decide(journey_id: string, decision: Omit<Decision, 'number'>): Promise<boolean> {
    const { rowCount } = await this.#asked(
      `UPDATE benchd_lab.journey SET decision = $2::jsonb || jsonb_build_object('number', coalesce((decision->>'number')::int, 0) + 1)
        WHERE journey_id = $1 AND ended_at IS NULL AND (state->>'number')::int = $3`,
      [journey_id, jsonOf(decision), decision.step],
    )
    return rowCount === 1
  }

  /** Notes that a run has to be withdrawn from a bench that is away. */
  async owe(journey_id: string, run: BenchRun): Promise<void> {
    const text = 'INSERT INTO benchd_lab.withdrawal VALUES ($1, $2, $3) ON CONFLICT (submission_id) DO NOTHING'
    await this.#asked(text, [run.submission_id, journey_id, jsonOf(run)])
  }

  owed(): Promise<{ journey_id: string; run: BenchRun }[]> {
    return this.#rows<{ journey_id: string; run: BenchRun }>('SELECT journey_id, run FROM benchd_lab.withdrawal')
  }

  async settle(submission_id: string): Promise<void> {
    await this.#asked('DELETE FROM benchd_lab.withdrawal WHERE submission_id = $1', [submission_id])
  }

  /** Lists journeys that have ended and are not among the newest `keep` of them, some at a time. */
  oldest(keep: number): Promise<{ journey_id: string }[]> {
    const text = 'SELECT journey_id FROM benchd_lab.journey WHERE ended_at IS NOT NULL ORDER BY number DESC OFFSET $1 LIMIT $2'
    return this.#rows<{ journey_id: string }>(text, [keep, mostAtOnce])
  }

  /** Lists the labware that has no holder since one of these journeys. */
  async unheld(journey_ids: readonly string[]): Promise<string[]> {
    const text = `SELECT labware FROM (${holders}) AS held WHERE journey_id = ANY($1) AND holder ? 'nobody'`
    return (await this.#rows<{ labware: string }>(text, [journey_ids])).map(({ labware }) => labware)
  }

  /** Removes journeys and their custody records, except the present holders. */
  async remove(journey_ids: readonly string[]): Promise<void> {
    await this.#rows(
      `WITH gone AS (DELETE FROM benchd_lab.custody WHERE journey_id = ANY($1) AND (labware, number) NOT IN
        (SELECT labware, number FROM (${holders}) AS held WHERE NOT holder ? 'nobody'))
        DELETE FROM benchd_lab.journey WHERE journey_id = ANY($1)`,
      [journey_ids],
    )
  }

  /** Adds a line to the log of custody; the same line again changes nothing. */
  async noteCustody({ labware, number, holder, journey_id, at }: CustodyRow): Promise<void> {
    await this.#asked('INSERT INTO benchd_lab.custody VALUES ($1, $2, $3, $4, $5) ON CONFLICT (labware, number) DO NOTHING', [
      labware,
      number,
      jsonOf(holder),
      journey_id,
      at,
    ])
  }

  /** Lists the present holder of each labware. */
  holders(): Promise<CustodyRow[]> {
    return this.#rows<CustodyRow>(holders)
  }

  /** The oldest first. */
  custodyOf(labware: string): Promise<CustodyRow[]> {
    return this.#rows<CustodyRow>('SELECT * FROM benchd_lab.custody WHERE labware = $1 ORDER BY number', [labware])
  }

  /** Takes all positions for the journey, or none. Returns the journey that has one of them; undefined when they are taken. */
  async claim(journey_id: string, spots: readonly string[]): Promise<string | undefined> {
    const taken = await this.#rows<{ journey_id: string }>(
      'SELECT journey_id FROM benchd_lab.claim WHERE spot = ANY($1) AND journey_id <> $2',
      [spots, journey_id],
    )
    if (taken[0]) return taken[0].journey_id
    await this.#asked('INSERT INTO benchd_lab.claim SELECT unnest($1::text[]), $2 ON CONFLICT (spot) DO NOTHING', [spots, journey_id])
    return undefined
  }

  async release(journey_id: string): Promise<void> {
    await this.#asked('DELETE FROM benchd_lab.claim WHERE journey_id = $1', [journey_id])
  }

  /** Closes the connections without waiting: DBOS keeps one of its own until the process ends. */
  close(): void {
    this.pool.end().catch(() => undefined)
    this.#lock.end().catch(() => undefined)
  }

  async #rows<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.#asked<Row>(text, values)
    return rows.map((row) => ('number' in row ? { ...row, number: Number(row.number) } : row))
  }

  /** Rejects with `disconnected` where the database is away; an error of PostgreSQL itself stays what it is. */
  async #asked<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<pg.QueryResult<Row>> {
    try {
      return await this.pool.query<Row>(text, [...values])
    } catch (error) {
      if (error instanceof pg.DatabaseError && !/^(57|08)/.test(error.code ?? '')) throw error
      throw new LabError('disconnected', `PostgreSQL does not answer: ${messageOf(error)}`, { cause: error })
    }
  }
}

/** Writes JSON that `jsonb` takes: PostgreSQL refuses NUL and halves of surrogate pairs, which words of a bench may have. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'string' ? member.toWellFormed().replaceAll('\0', '\ufffd') : member))
}

/** Throws `config` for an address that cannot be read. The error of PostgreSQL's client is not shown: it has the address with its password. */
function clientOf(url: string): pg.Client {
  try {
    if (!endsEarly(url))
      return new pg.Client({ connectionString: url, application_name: 'benchd lab', connectionTimeoutMillis: 5000, keepAlive: true })
  } catch {
    // The error below is thrown instead.
  }
  throw new LabError(
    'config',
    'database: the address of PostgreSQL cannot be read; write special characters of its password as %40, %3A and %2F',
  )
}

/** Whether a character of the password ends it early. The rest would be read as a host or database name, and be shown in messages. */
function endsEarly(url: string): boolean {
  const [, password = ''] = /\/\/[^:/@]*:(.*)@/.exec(url) ?? []
  return /[@/?#]/.test(password)
}

/** Tests the connection at intervals. Resolves with a sentence when an answer is late. */
async function silence(client: pg.Client, { every_ms, within_ms }: typeof usualPings): Promise<string> {
  for (;;) {
    await sleep(every_ms, undefined, { ref: false })
    const asked: pg.QueryConfig & { query_timeout: number } = { text: 'SELECT 1', query_timeout: within_ms }
    const failed = await client.query(asked).then(
      () => false,
      () => true,
    )
    if (failed) return `no answer within ${within_ms / 1000} s`
  }
}

/** Takes the lock. A coordinator that was killed just now may still have it for a moment. */
async function isLocked(client: pg.Client): Promise<boolean> {
  for (let tries = 0; tries < mostTries; tries++) {
    const { rows } = await client.query<{ is_taken: boolean }>('SELECT pg_try_advisory_lock($1) AS is_taken', [lockNumber])
    if (rows[0]?.is_taken) return true
    await new Promise((resolve) => setTimeout(resolve, again_ms))
  }
  return false
}

/** Returns the address of a database without its password; nothing of an address that cannot be parsed. */
export function shown(url: string): string {
  if (endsEarly(url) || !URL.canParse(url)) return 'the address that the lab file names'
  const parts = new URL(url)
  if (parts.password) parts.password = ''
  for (const name of [...parts.searchParams.keys()]) if (/pass|secret|key/i.test(name)) parts.searchParams.delete(name)
  return parts.href
}

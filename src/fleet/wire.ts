// The connection to the broker of the lab. Only this file and the transport below it know NATS.

import {
  DeliverPolicy,
  type DirectMsgRequest,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import { errors, jwtAuthenticator, type NatsConnection, headers as newHeaders, nkeyAuthenticator, nkeys } from '@nats-io/transport-node'
import type { FleetConfig } from '../config/fleet.ts'
import { LabError, messageOf } from '../errors.ts'
import { credentialPath, readText } from '../kit/files.ts'
import { boundedConnect, largestMessage } from './bounded_transport.ts'
import { differences } from './stream_settings.ts'

export type Place = Pick<FleetConfig, 'servers' | 'credentials' | 'ca'> & {
  /** The name of this client at the broker, and the prefix of its reply subjects. */
  name: string
}

/** The newest message of a subject. */
export type Last = {
  /** The place of the message in the stream. */
  seq: number
  payload: Uint8Array
  /** Returns '' if there is no such header. */
  header(name: string): string
}

type Message = {
  subject: string
  payload: Uint8Array
  headers: Record<string, string>
  /** The broker drops a second message with the same id while it remembers the first. */
  id: string
  /** The expected place of the subject's newest message, 0 for none. If another one is there, the message is refused. */
  expected: number
}

/** The place of the message in the stream, or `refused` if the newest message is not the expected one. */
type Published = { seq: number } | 'refused'

/** A message of a stream, as a reader gets it. */
export type Stored = {
  seq: number
  subject: string
  payload: Uint8Array
  header(name: string): string
  /** The number of later messages when this one was sent. */
  behind: number
}

export type Link = {
  /** The server, as the configuration names it. */
  server: string
  /** The broker's limit for a message with its headers, in bytes. */
  max_payload: number
  last(stream: string, subject: string): Promise<Last | undefined>
  publish(message: Message): Promise<Published>
  /** Writes the newest message of a subject without a condition. */
  put(subject: string, payload: Uint8Array): Promise<void>
  /** Removes the messages of a subject from the stream. */
  forget(stream: string, subject: string): Promise<void>
  /** Calls `hear` with each message of the subjects that is sent from now on. */
  listen(subjects: string, hear: (subject: string, payload: Uint8Array) => void): void
  /** Lists the subjects of a stream's messages. */
  subjects(stream: string): Promise<string[]>
  /** Reads the message at a place of the stream; undefined if there is none. */
  at(stream: string, seq: number): Promise<Last | undefined>
  /** Reads the stream from a place on and waits for new messages; the broker keeps no state for the reader. Rejects when the connection ends. */
  messages(stream: string, from: number): AsyncGenerator<Stored>
  /** The place of the newest message, 0 for none. */
  newest(stream: string): Promise<number>
  /**
   * Makes the stream with these subjects. An existing one is kept, and differences that an administrator has made are returned in words.
   * Rejects with `conflict` if the lab cannot use the existing stream.
   */
  makeStream(stream: string, subjects: string[]): Promise<string[]>
  /** Makes a NATS key-value bucket with one value for each key, as `makeStream` makes a stream. */
  makeBucket(bucket: string): Promise<string[]>
  /** Resolves with a sentence when the connection has ended. */
  closed: Promise<string>
  close(): void
}

/** The interval of pings; a vanished server is noticed after two of them. */
const ping_ms = 3000
const connect_ms = 5000
/** The time limit for an answer of the broker. */
const answer_ms = 10_000
/** Messages that are requested ahead of the reader. */
const mostAhead = 100
/** NATS error: the newest message of the subject is not the one that the sender expected. */
const wrongLast = 10_071
/** NATS error: there is no stream of that name. */
const noStream = 10_059

/** Connects once, and does not connect again when the connection ends. Rejects with `disconnected` or `config`, and a sentence. */
export async function connectTo(place: Place): Promise<Link> {
  const connection = await open(place)
  const streams = await jetstreamManager(connection, { checkAPI: false, timeout: answer_ms })
  const client = jetstream(connection, { timeout: answer_ms })
  const asked = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await ask()
    } catch (error) {
      throw error instanceof LabError ? error : new LabError('disconnected', sentenceOf(error, place), { cause: error })
    }
  }
  const found = (stream: string, query: DirectMsgRequest) =>
    asked(async () => {
      const message = await streams.direct.getMessage(stream, query)
      return message ? { seq: message.seq, payload: message.data, header: (name: string) => message.header.get(name) } : undefined
    })
  return {
    server: connection.getServer(),
    max_payload: Math.min(connection.info?.max_payload ?? 1_048_576, largestMessage),
    last: (stream, subject) => found(stream, { last_by_subj: subject }),
    at: (stream, seq) => found(stream, { seq }),
    async *messages(stream, from) {
      const begin = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from }
      const consumer = await asked(() => client.consumers.get(stream, begin))
      const found = await asked(() => consumer.consume({ max_messages: mostAhead }))
      try {
        for await (const { seq, subject, data, headers, info } of found)
          yield { seq, subject, payload: data, header: (name) => headers?.get(name) ?? '', behind: info.pending }
      } finally {
        found.stop()
      }
      throw new LabError('disconnected', ended(place))
    },
    newest: (stream) => asked(async () => (await streams.streams.info(stream)).state.last_seq),
    makeStream: (name, subjects) => asked(() => keptOrMade(streams, place, { name, subjects, allow_direct: true })),
    publish: ({ subject, payload, headers, id, expected }) =>
      asked(async () => {
        const written = newHeaders()
        for (const [name, value] of Object.entries(headers)) written.set(name, value)
        try {
          const options = { headers: written, msgID: id, expect: { lastSubjectSequence: expected }, timeout: answer_ms }
          const { seq, duplicate } = await client.publish(subject, payload, options)
          // The broker has a message with this id, whose content may differ.
          return duplicate ? 'refused' : { seq }
        } catch (error) {
          if (error instanceof JetStreamApiError && error.code === wrongLast) return 'refused'
          throw error
        }
      }),
    put: (subject, payload) =>
      asked(async () => {
        await client.publish(subject, payload, { timeout: answer_ms })
      }),
    forget: (stream, subject) =>
      asked(async () => {
        await streams.streams.purge(stream, { filter: subject })
      }),
    listen(subjects, hear) {
      connection.subscribe(subjects, { callback: (error, { subject, data }) => void (error ?? hear(subject, data)) })
    },
    subjects: (stream) =>
      asked(async () => Object.keys((await streams.streams.info(stream, { subjects_filter: '>' })).state.subjects ?? {})),
    makeBucket: (bucket) =>
      asked(() => {
        const rules = { max_msgs_per_subject: 1, discard: DiscardPolicy.New, allow_rollup_hdrs: true, deny_delete: true }
        return keptOrMade(streams, place, { name: `KV_${bucket}`, subjects: [`$KV.${bucket}.>`], allow_direct: true, ...rules })
      }),
    closed: connection.closed().then((error) => (error ? sentenceOf(error, place) : ended(place))),
    close: () => void connection.close().catch(() => undefined),
  }
}

/** Makes a stream of that name, or returns in words how the existing one differs. Rejects with `conflict` if the lab cannot use that one. */
async function keptOrMade(streams: JetStreamManager, place: Place, { name, ...rules }: Partial<StreamConfig> & { name: string }) {
  const wanted = { name, storage: StorageType.File, ...rules }
  const { config } = await streams.streams.info(name).catch((error: unknown) => {
    if (error instanceof JetStreamApiError && error.code === noStream) return streams.streams.add(wanted)
    throw error
  })
  const { missing, other } = differences(wanted, config)
  if (missing.length === 0) return other
  throw new LabError(
    'conflict',
    `${named(place)} has a stream ${name} that the lab cannot use: ${missing.join(', ')}. Change the stream at the broker, then run benchd lab setup at a shell`,
  )
}

/** Makes a key pair for a client. The broker gets the public part; the secret stays with the client. */
export function newKey(): { secret: string; public_key: string } {
  const pair = nkeys.createUser()
  return { secret: new TextDecoder().decode(pair.getSeed()), public_key: pair.getPublicKey() }
}

async function open(place: Place): Promise<NatsConnection> {
  const { servers, name, ca } = place
  const secret = place.credentials === undefined ? undefined : await readText(credentialPath(place.credentials))
  const certificate = ca === undefined ? undefined : await readText(ca)
  const authenticator = secret === undefined ? undefined : authenticatorOf(secret, place)
  try {
    return await boundedConnect({
      servers,
      name,
      // A prefix of its own, so that other benches cannot read the replies.
      inboxPrefix: `_INBOX_${name}`,
      tls: servers.some((server) => server.startsWith('tls:')) ? { ...(certificate && { ca: certificate }) } : null,
      ...(authenticator && { authenticator }),
      reconnect: false,
      ignoreClusterUpdates: true,
      timeout: connect_ms,
      pingInterval: ping_ms,
      maxPingOut: 2,
    })
  } catch (error) {
    throw new LabError('disconnected', sentenceOf(error, place), { cause: error })
  }
}

/** Reads an nkey seed as `benchd lab init` writes it, or the credentials file of a NATS account: a token, which may expire, and its seed. */
function authenticatorOf(secret: string, { credentials }: Place) {
  const [seed] = /\bSU[A-Z2-7]{56}\b/.exec(secret) ?? []
  const [token] = /\beyJ[\w-]*\.[\w-]+\.[\w-]+/.exec(secret) ?? []
  if (!seed || !isSeed(seed))
    throw new LabError('config', `fleet.credentials: ${credentials} holds no key for the broker; benchd lab init writes such files`)
  const bytes = new TextEncoder().encode(seed)
  return token ? jwtAuthenticator(token, bytes) : nkeyAuthenticator(bytes)
}

/** Whether the checksum of a seed is right, which the client would find out only while it connects. */
function isSeed(seed: string): boolean {
  try {
    nkeys.fromSeed(new TextEncoder().encode(seed))
    return true
  } catch {
    return false
  }
}

/** Sentences for errors of the NATS client: the first whose pattern matches the message of the error or of its cause. */
const sentences: readonly (readonly [RegExp, (broker: string, place: Place, found: RegExpExecArray) => string])[] = [
  [
    /authoriz|authenticat|credential|nkey/i,
    (broker, { credentials }) =>
      `${broker} refuses ${credentials === undefined ? 'a bench without credentials: name their file in fleet.credentials' : `the credentials in ${credentials}: they have ended, or it does not know them. Put the right ones there; they are tried without a restart`}`,
  ],
  [/permission/i, (broker) => `${broker} does not let this client do that: see that fleet.lab and fleet.name are those of its credentials`],
  [
    /no responders|jetstream is not enabled|stream not found/i,
    (broker) => `${broker} has no stream for the lab yet; make it at a shell: benchd lab setup`,
  ],
  [
    /insufficient (storage )?resources|maximum bytes|no space|resource limits/i,
    (broker) => `${broker} has no room left: free some space on its disk`,
  ],
  [/refused/i, (broker) => `${broker} cannot be reached (connection refused): see that it runs`],
  [
    /not yet valid|has expired|NOT_YET_VALID|HAS_EXPIRED/i,
    (broker) =>
      `${broker} shows a certificate that is not valid now: see that the clock of this computer is right, or make a new certificate`,
  ],
  [
    /certificate|self.signed|altname|issuer/i,
    (broker) => `${broker} shows a certificate that is not trusted: name the file that came with it in fleet.ca`,
  ],
  [/it sends (.*)/, (broker, _, [, what]) => `${broker} sends ${what}: see that it is the broker of the lab`],
  [/timeout|timed out|stale/i, (broker) => `${broker} does not answer`],
]

function sentenceOf(error: unknown, place: Place): string {
  const cause = error instanceof Error ? error.cause : undefined
  const said = `${messageOf(error)} ${cause === undefined ? '' : messageOf(cause)}`.trim()
  const known = error instanceof errors.NoRespondersError ? 'no responders' : said
  for (const [pattern, sentence] of sentences) {
    const found = pattern.exec(known)
    if (found) return sentence(named(place), place, found)
  }
  return `${named(place)}: ${said}`
}

function ended(place: Place): string {
  return `the connection to ${named(place)} has ended: it was closed, or the broker does not answer any more`
}

function named({ servers }: Place): string {
  return `the broker ${servers.join(', ')}`
}

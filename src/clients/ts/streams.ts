// The streams of a bench: the live state and the messages that it is made of, and the frames of the events. Nothing here asks a bench.

import type {
  DeviceInfo,
  ExecutionSummary,
  GetHealthResponse,
  Incident,
  ListConfirmationsResponse,
  ListLabwareResponse,
  ListManualStepsResponse,
  PairingRequest,
  Reading,
  Thread,
  TimelineRow,
  Topology,
} from './api.ts'

/** The kinds of the live state, each by id. */
export type Kinds = {
  service: GetHealthResponse
  device: DeviceInfo
  /** The newest, by device. */
  reading: Reading
  topology: Topology
  labware: ListLabwareResponse['labware'][number]
  incident: Incident
  step: ListManualStepsResponse['steps'][number]
  run: ExecutionSummary
  thread: Thread
  timeline: TimelineRow
  key_request: PairingRequest
  /** The requests that programs ask people to confirm, for keys of scope operate. */
  confirmation: ListConfirmationsResponse['confirmations'][number]
}

/** A message of the stream: a new value, or `null` when it is gone; that the opening is whole; the time. */
export type Message =
  | { event: 'state'; kind: keyof Kinds; id: string; value: object | null }
  | { event: 'ready' }
  | { event: 'beat'; time: number }

/** The state of the bench as the stream has given it so far. It is never changed: each message makes another. */
export type State = { readonly [kind in keyof Kinds]: Readonly<Record<string, Kinds[kind]>> } & {
  /** Whether the stream has given everything there is. */
  readonly ready: boolean
  /** Time of the server at its last beat, Unix, s; 0 before the first. */
  readonly time: number
}

export const emptyState: State = {
  ...{
    service: {},
    device: {},
    reading: {},
    topology: {},
    labware: {},
    incident: {},
    step: {},
    run: {},
    thread: {},
    timeline: {},
    key_request: {},
    confirmation: {},
  },
  ready: false,
  time: 0,
}

/** The state after a message. Kinds that the message does not touch stay the same objects. */
export function reduce(state: State, message: Message): State {
  return reduceAll(state, [message])
}

/** The state after all of the messages: each kind that they touch is copied once, however many they are. */
export function reduceAll(state: State, messages: readonly Message[]): State {
  let { ready, time } = state
  const touched: Record<string, Record<string, object>> = {}
  for (const message of messages) {
    if (message.event === 'ready') ready = true
    else if (message.event === 'beat') time = message.time
    // Kinds of a later version are passed over.
    else if (message.kind in emptyState) {
      const { kind, id, value } = message
      touched[kind] ??= { ...state[kind] }
      const values = touched[kind]
      if (value === null) delete values[id]
      else values[id] = value
    }
  }
  return { ...state, ...touched, ready, time }
}

/** The messages of a stream, those of a piece together. Frames of other events are passed over. */
export async function* messagesIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<Message[]> {
  for await (const frames of framesIn(stream)) {
    const messages = frames.flatMap((frame) => messageOf(frame) ?? [])
    if (messages.length) yield messages
  }
}

/** The frames of the stream of events, those of a piece together. */
export async function* eventFramesIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<EventFrame[]> {
  for await (const frames of framesIn(stream)) yield frames.map(eventFrame)
}

/** The frames of a stream of Server-Sent Events, those of a piece together. */
async function* framesIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<string[]> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const frames = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = frames.pop()!
      yield frames
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function messageOf(frame: string): Message | undefined {
  const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(frame) ?? []
  if (event !== 'state' && event !== 'ready' && event !== 'beat') return undefined
  return { event, ...(JSON.parse(data!) as object) } as Message
}

/** The parts of a frame of the stream of events: the id, the event as JSON, a comment. */
type EventFrame = { id?: string; data?: string; note?: string }

function eventFrame(frame: string): EventFrame {
  const names: Record<string, string> = { id: 'id', data: 'data', '': 'note' }
  return Object.fromEntries(
    frame.split('\n').flatMap((line) => {
      const [, field = '-', value] = /^(\w*): ?(.*)$/s.exec(line) ?? []
      const name = names[field]
      return name === undefined ? [] : [[name, value]]
    }),
  )
}

// The live stream of events over fetch, because an EventSource cannot send the key. After a loss it goes on behind the last event.

import { detailOf, KeyRefused, request } from './key.js'

/** The service pings every 5 seconds when it is asked to; after this it counts as gone. */
const silent_ms = 12_000
const waits_ms = [1000, 2000, 4000, 8000]

/**
 * Calls `onEvent(event)`, `onNote(text)` for what the stream says about itself, and `onState(live, words)`, until the signal is
 * aborted. Throws `KeyRefused`.
 */
export async function follow({ signal, onEvent, onNote, onState }) {
  let last
  let losses = 0
  while (!signal.aborted) {
    const words = await read({
      signal,
      last,
      onOpen() {
        losses = 0
        onState(true, 'live')
      },
      onFrame(frame) {
        if (frame.id !== undefined) last = frame.id
        if (frame.data !== undefined) onEvent(JSON.parse(frame.data))
        if (frame.note && frame.note !== 'ping') onNote(frame.note)
      },
    })
    if (signal.aborted) return
    onState(false, words)
    await pause(waits_ms[Math.min(losses++, waits_ms.length - 1)], signal)
  }
}

/** One connection, from its opening to its end; answers why it ended. */
async function read({ signal, last, onOpen, onFrame }) {
  const connection = new AbortController()
  const stop = () => connection.abort()
  signal.addEventListener('abort', stop)
  let watchdog = setTimeout(stop, silent_ms)
  try {
    const headers = last === undefined ? {} : { 'Last-Event-ID': last }
    const answer = await request('events/stream?heartbeat=5', { headers, signal: connection.signal })
    if (!answer.ok) return `refused: ${await detailOf(answer)}`
    onOpen()
    const take = frames(onFrame)
    for await (const text of texts(answer.body)) {
      clearTimeout(watchdog)
      watchdog = setTimeout(stop, silent_ms)
      take(text)
    }
    return 'the service closed the stream'
  } catch (error) {
    if (error instanceof KeyRefused) throw error
    return 'the service does not answer'
  } finally {
    clearTimeout(watchdog)
    signal.removeEventListener('abort', stop)
  }
}

/** Not every browser's streams can be walked with `for await`. */
async function* texts(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

/** Takes text in pieces and calls with each frame, and with each comment: `{id, data}` or `{note}`. */
function frames(onFrame) {
  let rest = ''
  let frame = {}
  const line = (text) => {
    if (text === '') {
      onFrame(frame)
      frame = {}
    } else if (text.startsWith(':')) onFrame({ note: text.slice(1).trim() })
    else {
      const [, name, value] = /^([^:]*):? ?(.*)$/.exec(text)
      if (name === 'id' || name === 'data') frame[name] = value
    }
  }
  return (text) => {
    const lines = (rest + text).split(/\r?\n/)
    rest = lines.pop()
    lines.forEach(line)
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

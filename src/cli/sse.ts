// Server-Sent Events as they come over the wire, put together again.

type ServerSentEvent = { id: string; data: string }

/** The events of a body; `comment` receives the comments. A frame with an id alone has no data. A frame that the end cut off is left out. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>, comment: (text: string) => void): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const event = parsed(frame, comment)
      if (event) yield event
    }
  }
}

function parsed(frame: string, comment: (text: string) => void): ServerSentEvent | undefined {
  const event = { id: '', data: '' }
  for (const line of frame.split('\n')) {
    if (line.startsWith(':')) comment(line.slice(1).trim())
    else if (line.startsWith('id: ')) event.id = line.slice(4)
    else if (line.startsWith('data: ')) event.data += line.slice(6)
  }
  return event.data || event.id ? event : undefined
}

// The way to a bench: requests to its API with the key of the caller.

/** A request of a tool. `headers` are those besides the key and the media type. */
export type Request = { method: string; path: string; body?: object; headers?: Readonly<Record<string, string>> }

/** `body` is the text of the answer. */
export type Answer = { status: number; headers: Readonly<Record<string, string | undefined>>; body: string }

/** Sends a request to the bench. Rejects with a sentence where the bench cannot be reached. */
export type AskBench = (request: Request) => Promise<Answer>

/** Asks with GET. Throws with the sentence of the bench where it refuses. */
export async function textFrom(ask: AskBench, path: string): Promise<string> {
  const { status, body } = await ask({ method: 'GET', path })
  if (status !== 200) throw new Error(detailIn(body) ?? `the bench answered ${status} to GET ${path}`)
  return body
}

/** Returns the sentence of a refusal. */
export function detailIn(body: string): string | undefined {
  const value = jsonIn(body)
  const detail = typeof value === 'object' && value !== null ? (value as { detail?: unknown }).detail : undefined
  return typeof detail === 'string' ? detail : undefined
}

/** Parses JSON; other text is returned as it is. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

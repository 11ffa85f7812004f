// One request as it is sent, and as it is written in a shell and in Python.

/**
 * `operation` is one of the document's, with its `method` and `path`; `values` are those of its parameters by name, texts all of them;
 * `body` is the text of the body, empty for none. A text that is not JSON stays as it is: the service says what is wrong with it.
 */
export function requestOf(operation, values, body) {
  const { path, method, parameters = [], security } = operation
  const given = parameters.filter(({ name }) => (values[name] ?? '') !== '')
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
  const query = given.filter((parameter) => parameter.in === 'query').map(({ name }) => `${name}=${encodeURIComponent(values[name])}`)
  const headers = Object.fromEntries(given.filter((parameter) => parameter.in === 'header').map(({ name }) => [name, values[name]]))
  const url = filled + (query.length ? `?${query.join('&')}` : '')
  const public_ = security?.length === 0
  return {
    method: method.toUpperCase(),
    url,
    headers,
    body,
    public: public_,
    brings: broughtBy(operation),
    timeout: timeoutOf(operation, body),
  }
}

/** By the media type of a good answer: what a program does with it. */
const brought = { 'text/event-stream': 'stream', 'application/gzip': 'file', 'text/plain': 'text' }

function broughtBy({ operationId, responses }) {
  const [type] = Object.keys(responses[200]?.content ?? {})
  return { kind: brought[type] ?? 'json', file: `${operationId}.tar.gz` }
}

/** In the words of each language. */
export const languages = {
  curl({ method, url, headers, body, public: open, brings }, base) {
    const parts = [
      `curl${{ stream: ' -N', file: ` -o ${brings.file}` }[brings.kind] ?? ''}${method === 'GET' ? '' : ` -X ${method}`} ${quoted(base + url)}`,
      ...(open ? [] : ['-H "X-API-Key: $BENCHD_API_KEY"']),
      ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
      ...(body ? [`-H 'Content-Type: application/json' -d ${quoted(body)}`] : []),
    ]
    return parts.join(' \\\n     ')
  },

  'Python requests'({ method, url, headers, body, public: open, brings, timeout }, base) {
    const stream = brings.kind === 'stream'
    const lines = [
      `answer = requests.${method.toLowerCase()}(`,
      `    ${JSON.stringify(base + url)},`,
      ...headersInPython(open, headers),
      ...(body ? [`    json=${python(body)},`] : []),
      ...(stream ? ['    stream=True,', '    timeout=60,'] : [`    timeout=${timeout},`]),
      ')',
    ]
    const imports = open ? 'import requests' : 'import os\n\nimport requests'
    const end = {
      // By larger pieces, a line would come only when later ones fill the piece.
      stream: 'for line in answer.iter_lines(chunk_size=1):\n    print(line.decode(), flush=True)',
      file: `with open("${brings.file}", "wb") as file:\n    file.write(answer.content)`,
      text: 'print(answer.text)',
      json: 'print(answer.json())',
    }[brings.kind]
    return `${imports}\n\n${lines.join('\n')}\nif not answer.ok:\n    raise SystemExit(answer.json()["detail"])\n${end}`
  },

  'Python, nothing installed'({ method, url, headers, body, public: open, brings, timeout }, base) {
    const end = {
      stream: ['for line in answer:', '    print(line.decode(), end="", flush=True)'],
      file: [`with open("${brings.file}", "wb") as file:`, '    file.write(answer.read())'],
      text: ['print(answer.read().decode())'],
      json: ['print(json.load(answer))'],
    }[brings.kind]
    const lines = [
      'request = urllib.request.Request(',
      `    ${JSON.stringify(base + url)},`,
      `    method="${method}",`,
      ...headersInPython(open, body ? { ...headers, 'Content-Type': 'application/json' } : headers),
      ...(body ? [`    data=json.dumps(${python(body)}).encode(),`] : []),
      ')',
      'try:',
      `    with urllib.request.urlopen(request, timeout=${brings.kind === 'stream' ? 60 : timeout}) as answer:`,
      ...end.map((line) => `        ${line}`),
      'except urllib.error.HTTPError as error:',
      '    raise SystemExit(json.load(error)["detail"])',
    ]
    return `import json\nimport os\nimport urllib.error\nimport urllib.request\n\n${lines.join('\n')}`
  },
}

/** In seconds: longer than the service gives the operation, so that its answer comes before the client gives up. */
function timeoutOf(operation, body) {
  const margin = operation['x-margin-seconds']
  return margin === undefined ? 10 : Math.ceil(Number(parsed(body)?.duration ?? 0) + margin + 10)
}

function headersInPython(open, headers) {
  const all = [
    ...(open ? [] : ['"X-API-Key": os.environ["BENCHD_API_KEY"]']),
    ...Object.entries(headers).map((pair) => pair.map((part) => JSON.stringify(part)).join(': ')),
  ]
  return all.length ? [`    headers={${all.join(', ')}},`] : []
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function python(text) {
  const value = parsed(text)
  return value === undefined ? JSON.stringify(text) : literal(value)
}

function literal(value) {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${literal(inner)}`)
    .join(', ')}}`
}

/** For a POSIX shell. */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}

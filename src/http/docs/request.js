// One request as it is sent, and as it is written in a shell and in Python.

/**
 * `operation` is one of the document's, with its `method` and `path`; `values` are those of its parameters by name, texts all of them;
 * `body` is the text of the body, empty for none. A text that is not JSON stays as it is: the service says what is wrong with it.
 */
export function requestOf(operation, values, body) {
  const { path, method, parameters = [], responses, security } = operation
  const given = parameters.filter(({ name }) => (values[name] ?? '') !== '')
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
  const query = given.filter((parameter) => parameter.in === 'query').map(({ name }) => `${name}=${encodeURIComponent(values[name])}`)
  const headers = Object.fromEntries(given.filter((parameter) => parameter.in === 'header').map(({ name }) => [name, values[name]]))
  const url = filled + (query.length ? `?${query.join('&')}` : '')
  const public_ = security?.length === 0
  const stream = Boolean(responses[200]?.content?.['text/event-stream'])
  return { method: method.toUpperCase(), url, headers, body, public: public_, stream, timeout: timeoutOf(operation, body) }
}

/** In the words of each language. */
export const languages = {
  curl({ method, url, headers, body, public: open, stream }, base) {
    const parts = [
      `curl${stream ? ' -N' : ''}${method === 'GET' ? '' : ` -X ${method}`} ${quoted(base + url)}`,
      ...(open ? [] : ['-H "X-API-Key: $BENCHD_API_KEY"']),
      ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
      ...(body ? [`-H 'Content-Type: application/json' -d ${quoted(body)}`] : []),
    ]
    return parts.join(' \\\n     ')
  },

  'Python requests'({ method, url, headers, body, public: open, stream, timeout }, base) {
    const lines = [
      `answer = requests.${method.toLowerCase()}(`,
      `    ${JSON.stringify(base + url)},`,
      ...headersInPython(open, headers),
      ...(body ? [`    json=${python(body)},`] : []),
      ...(stream ? ['    stream=True,', '    timeout=60,'] : [`    timeout=${timeout},`]),
      ')',
    ]
    const imports = open ? 'import requests' : 'import os\n\nimport requests'
    const end = stream
      ? 'answer.raise_for_status()\nfor line in answer.iter_lines(decode_unicode=True):\n    print(line)'
      : 'if not answer.ok:\n    raise SystemExit(answer.json()["detail"])\nprint(answer.json())'
    return `${imports}\n\n${lines.join('\n')}\n${end}`
  },

  'Python, nothing installed'({ method, url, headers, body, public: open, stream, timeout }, base) {
    const lines = [
      'request = urllib.request.Request(',
      `    ${JSON.stringify(base + url)},`,
      `    method="${method}",`,
      ...headersInPython(open, body ? { ...headers, 'Content-Type': 'application/json' } : headers),
      ...(body ? [`    data=json.dumps(${python(body)}).encode(),`] : []),
      ')',
      'try:',
      `    with urllib.request.urlopen(request, timeout=${stream ? 60 : timeout}) as answer:`,
      ...(stream ? ['        for line in answer:', '            print(line.decode(), end="")'] : ['        print(json.load(answer))']),
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

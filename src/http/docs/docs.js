// The page of the API: what /openapi.json says, to be read, copied and tried.

import { element, prose, table } from './element.js'
import { askForKey, forgetKey, KeyRefused, request, storedKey } from './key.js'
import { languages, requestOf } from './request.js'
import { members, rangeOf, resolved, typeOf } from './schema.js'

const the = (id) => document.getElementById(id)
const base = new URL('.', location.href).href.replace(/\/$/, '')
let language = localStorage.getItem('benchd.language') ?? 'curl'
if (!languages[language]) language = 'curl'
/** Writes each snippet anew. */
const snippets = []

const api = await (await fetch('openapi.json')).json()
const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method })),
)

const isLab = api.components.schemas.RuntimeEvent === undefined
if (isLab) fitToLab()
the('title').textContent = api.info.title
the('version').textContent = api.info.version
the('about').append(...prose(api.info.description))
for (const { name, description } of api.tags) showTag(name, description)
showReasons()
showSchemas()
showKey()
the('search').addEventListener('input', () => search(the('search').value))
document.addEventListener('keydown', focusSearch)
addEventListener('hashchange', openAddressed)
openAddressed()

/** A coordinator of a lab has no events of its own, and one guide. */
function fitToLab() {
  document.title = 'benchd lab API'
  the('events').remove()
  the('to-events').remove()
  the('home').textContent = '← Lab'
  the('guides').href = 'docs/guides/lab'
  the('search').placeholder = 'journey, task …  ( / )'
}

function showTag(name, description) {
  const its = operations.filter(({ tags }) => tags.includes(name))
  const links = its.map((operation) =>
    element(
      'li',
      { 'data-for': operation.operationId },
      element('a', { href: `#${operation.operationId}`, title: operation.summary }, ...title(shortened(operation))),
    ),
  )
  the('list').append(element('section', { class: 'tag' }, element('h2', {}, name), element('ul', {}, ...links)))
  the('operations').append(element('section', { class: 'tag' }, element('h2', {}, name), element('p', {}, description), ...its.map(shown)))
}

/** For the list at the side, which is narrow. */
function shortened({ method, path }) {
  return { method, path: path.replace(/^\/api/, '').replace(/\{\w+\}/g, '…') }
}

function title({ method, path }) {
  return [element('span', { class: `method ${method}` }, method.toUpperCase()), ' ', element('code', {}, path)]
}

function shown(operation) {
  const { operationId, summary, description, parameters = [], requestBody } = operation
  const body = requestBody?.content['application/json']
  return element(
    'details',
    { id: operationId, class: 'operation' },
    element('summary', {}, element('h3', {}, ...title(operation)), ' ', element('span', {}, summary)),
    element('p', {}, ...prose(description)),
    parameters.length ? element('h4', {}, 'Parameters') : '',
    parameters.length ? table(['Name', 'In', 'Type', 'Range', ''], parameters.map(parameterRow)) : '',
    body ? element('h4', {}, 'Body, as JSON') : '',
    body ? members(api, body.schema, operation.path.includes('{device_id}') ? limitsOfDevice : undefined) : '',
    ...trial(operation, body),
    element('h4', {}, 'Answers'),
    table(['Status', 'Meaning', 'Body', 'Headers'], Object.entries(operation.responses).map(answerRow)),
  )
}

/** Each model has limits of its own. */
function limitsOfDevice() {
  return element('a', { href: '#getDeviceCapabilities' }, 'limits of the device')
}

function parameterRow({ name, in: place, schema, required, description = '' }) {
  const needed = required ? element('strong', {}, 'required') : 'optional'
  return [element('code', {}, name), place, typeOf(schema), rangeOf(schema), [needed, ' ', ...prose(description)]]
}

function answerRow([status, answer]) {
  const { description, content = {}, headers = {} } = resolved(api, answer)
  const [[type, { schema } = {}] = []] = Object.entries(content)
  const body = !type ? '' : type === 'application/json' ? typeOf(schema) : type
  return [status === 'default' ? 'other' : element('strong', {}, status), prose(description), body, headersInWords(headers)]
}

function headersInWords(headers) {
  const names = Object.keys(headers).filter((name) => name !== 'X-API-Version')
  const words = headers['X-Reason']?.schema?.enum
  return names.map((name) => (name === 'X-Reason' && words ? `X-Reason: ${words.join(', ')}` : name)).join('; ')
}

/** The fields of a request, the same request as text, and a button that sends it. */
function trial(operation, body) {
  const { operationId, parameters = [], method } = operation
  const inputs = parameters.map((parameter) => [parameter.name, inputFor(operationId, parameter)])
  const text = body && element('textarea', { rows: 6, spellcheck: 'false', 'aria-label': 'Body' })
  if (text) text.value = body.example === undefined ? '{}' : JSON.stringify(body.example, null, 2)
  const current = () =>
    requestOf(operation, Object.fromEntries(inputs.map(([name, input]) => [name, input.value.trim()])), compact(text?.value ?? ''))
  const output = element('pre', { class: 'output', tabindex: '0', hidden: true, 'aria-live': 'polite' })
  const send = element('button', { type: 'submit' }, `Send ${method.toUpperCase()}`)
  const form = element(
    'form',
    { class: 'try' },
    ...inputs.map(([name, input]) => element('label', {}, element('span', {}, name), input)),
    text ? element('label', { class: 'body' }, element('span', {}, 'body'), text) : '',
    send,
  )
  const snippet = snippetOf(current)
  form.addEventListener('input', snippet.write)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void sent(current(), output, send)
  })
  return [element('h4', {}, 'Example'), snippet.element, element('h4', {}, 'Try it'), form, output]
}

function inputFor(operationId, { name, example, required, schema }) {
  if (schema.enum)
    return element('select', {}, element('option', { value: '' }, ''), ...schema.enum.map((value) => element('option', {}, value)))
  return element('input', { value: example ?? '', required, autocomplete: 'off', id: `${operationId}-${name}` })
}

function compact(text) {
  try {
    const small = JSON.stringify(JSON.parse(text))
    return small === '{}' ? '' : small
  } catch {
    return text
  }
}

function snippetOf(current) {
  const code = element('code')
  const copy = element('button', { type: 'button', class: 'copy' }, 'Copy')
  const tabs = Object.keys(languages).map((name) => {
    const tab = element('button', { type: 'button', class: 'tab' }, name)
    tab.addEventListener('click', () => choose(name))
    return tab
  })
  const write = () => {
    for (const tab of tabs) tab.setAttribute('aria-pressed', String(tab.textContent === language))
    code.textContent = languages[language](current(), base)
  }
  copy.addEventListener('click', async () => {
    const done = await copied(code)
    copy.textContent = done ? 'Copied' : 'Press Ctrl-C'
    setTimeout(() => {
      copy.textContent = 'Copy'
    }, 1500)
  })
  snippets.push(write)
  write()
  return {
    write,
    element: element('div', { class: 'snippet' }, element('div', { class: 'tabs' }, ...tabs, copy), element('pre', {}, code)),
  }
}

function choose(name) {
  language = name
  localStorage.setItem('benchd.language', name)
  for (const write of snippets) write()
}

/** The clipboard of browsers is closed to pages over plain HTTP; there the older way goes over a selection. */
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent)
    return true
  } catch {
    getSelection().selectAllChildren(code)
    return document.execCommand('copy')
  }
}

async function sent({ method, url, headers, body, public: open, brings }, output, button) {
  output.hidden = false
  output.textContent = 'waiting for the answer …'
  button.disabled = true
  const stop = new AbortController()
  try {
    if (!open && !storedKey()) await enterKey('This request needs a key.')
    const typed = body ? { ...headers, 'Content-Type': 'application/json' } : headers
    const answer = await request(url.slice(1), { method, headers: typed, ...(body && { body }), signal: stop.signal })
    output.textContent = headOf(answer)
    if (brings.kind === 'stream' && answer.ok) await showStream(answer, output, stop)
    else output.textContent += pretty(await answer.text())
  } catch (error) {
    if (!(error instanceof KeyRefused)) output.textContent = `no answer: ${error.message}`
    else {
      output.textContent = `refused: ${error.message}`
      await enterKey('The key of this browser was refused; enter another.')
    }
  } finally {
    button.disabled = false
  }
}

const shownHeaders = ['X-Reason', 'Retry-After', 'Operation-Id', 'Location']

function headOf(answer) {
  const found = shownHeaders.filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`)
  return `${[`${answer.status} ${answer.statusText}`, ...found].join('\n')}\n\n`
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const streamFor_ms = 30_000

/** The first half minute of a stream. */
async function showStream(answer, output, stop) {
  const timer = setTimeout(() => stop.abort(), streamFor_ms)
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) output.append(piece.value)
  } catch (error) {
    if (!stop.signal.aborted) throw error
    output.append('\n(closed by this page after 30 seconds)')
  } finally {
    clearTimeout(timer)
  }
}

function showReasons() {
  const { 'x-meanings': meanings } = api.components.headers['X-Reason']
  const rows = Object.entries(meanings).map(([word, { status, meaning }]) => [element('code', {}, word), String(status), prose(meaning)])
  the('reasons').append(table(['X-Reason', 'Status', 'Meaning'], rows))
}

function showSchemas() {
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    the('schemas').append(
      element('details', { id: `schema-${name}`, class: 'schema' }, element('summary', {}, element('h3', {}, name)), members(api, schema)),
    )
  }
}

function showKey() {
  const has = storedKey() !== ''
  the('key-state').textContent = has ? 'This browser has a key; Send uses it.' : 'This browser has no key yet.'
  the('key-change').textContent = has ? 'Forget the key' : 'Enter a key'
  the('key-change').onclick = async () => {
    if (!has) return enterKey('')
    forgetKey()
    showKey()
  }
}

async function enterKey(why) {
  the('key').scrollIntoView({ block: 'center' })
  await askForKey(the('key'), why, isLab)
  showKey()
}

function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  for (const { operationId, path, method, summary, description } of operations) {
    const whole = `${operationId} ${method} ${path} ${summary} ${description}`.toLowerCase()
    const found = words.every((word) => whole.includes(word))
    the(operationId).hidden = !found
    document.querySelector(`[data-for="${operationId}"]`).hidden = !found
  }
  for (const section of document.querySelectorAll('section.tag'))
    section.hidden = !section.querySelector('details:not([hidden]), li:not([hidden])')
  document.body.classList.toggle('searching', words.length > 0)
  the('nothing').hidden = document.querySelector('details.operation:not([hidden])') !== null
}

function focusSearch(event) {
  if (event.key !== '/' || event.target.matches('input, textarea, select')) return
  event.preventDefault()
  the('search').focus()
}

/** An address with a # opens what it names. */
function openAddressed() {
  const target = the(decodeURIComponent(location.hash.slice(1)))
  if (target && !target.checkVisibility()) {
    the('search').value = ''
    search('')
    target.scrollIntoView()
  }
  if (target?.tagName !== 'DETAILS') return
  target.open = true
  target.scrollIntoView()
}

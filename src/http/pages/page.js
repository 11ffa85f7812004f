// The bench in one page: the devices, what happens, and Stop.

import { askForKey, detailOf, forgetKey, KeyRefused, request, storedKey } from './key.js'
import { follow } from './live.js'

const mostEvents = 200
const refreshEvery_ms = 2000
const answerWithin_ms = 5000

const the = (id) => document.getElementById(id)
let session = new AbortController()
let busy = false
let again = false
let seenFaults = ''
/** Lines to be drawn. */
const waiting = []

// On a phone the table is laid out as cards; it says here that it is a table all the same.
the('devices').setAttribute('role', 'rowgroup')
the('devices').parentElement.setAttribute('role', 'table')
pressable(the('stop-all'), 'pointerdown', () => stop('api/stop', 'all devices'))
the('forget').addEventListener('click', () => {
  forgetKey()
  end('')
})
setInterval(() => document.hidden || refresh(), refreshEvery_ms)
document.addEventListener('visibilitychange', () => document.hidden || refresh())
begin(storedKey() ? undefined : '')

/** Asks for a key if there is a reason to, then shows the bench until the key is refused or forgotten. */
async function begin(why) {
  if (why !== undefined) await askForKey(the('key'), why)
  session = new AbortController()
  the('bench').hidden = the('forget').hidden = false
  refresh()
  follow({ signal: session.signal, onEvent, onNote, onState: showLink }).catch(ended)
}

function end(why) {
  session.abort()
  the('bench').hidden = the('forget').hidden = true
  showLink(false, 'no key')
  begin(why)
}

function ended(error) {
  if (session.signal.aborted) return
  if (!(error instanceof KeyRefused)) throw error
  end('The key of this browser is wrong, expired or revoked; give another.')
}

/** One at a time: what is asked for meanwhile is done once, afterwards. */
async function refresh() {
  if (busy) {
    again = true
    return
  }
  if (session.signal.aborted || the('bench').hidden) return
  busy = true
  try {
    await showDevices()
    document.body.classList.remove('stale')
  } catch (error) {
    if (error instanceof KeyRefused) ended(error)
    else document.body.classList.add('stale')
  } finally {
    busy = false
    if (again) {
      again = false
      setTimeout(refresh, 250)
    }
  }
}

async function showDevices() {
  const { devices } = await json('api/devices')
  const all = await Promise.all(devices.map(({ device_id }) => json(`api/devices/${device_id}`)))
  const rows = new Map([...the('devices').rows].map((row) => [row.dataset.device, row]))
  for (const device of all) {
    showDevice(rows.get(device.device_id) ?? newRow(device.device_id), device)
    rows.delete(device.device_id)
  }
  for (const row of rows.values()) row.remove()
  const driven = all.filter(({ state }) => state !== 'external')
  the('simulated').hidden = driven.length === 0 || !driven.every(({ simulated }) => simulated)
  showFaults(all)
}

async function json(path) {
  const answer = await request(path, { signal: AbortSignal.timeout(answerWithin_ms) })
  if (!answer.ok) throw new Error(await detailOf(answer))
  return answer.json()
}

function newRow(device_id) {
  const row = the('devices').insertRow()
  row.dataset.device = device_id
  row.setAttribute('role', 'row')
  for (const name of ['device', 'type', 'name', 'state', 'initialized', 'operation', 'fault', 'stop']) {
    const cell = row.insertCell()
    cell.className = name
    cell.setAttribute('role', name === 'device' ? 'rowheader' : 'cell')
    cell.dataset.label = name
  }
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Stop'
  button.setAttribute('aria-label', `Stop ${device_id}`)
  pressable(button, 'click', () => stop(`api/devices/${device_id}/stop`, device_id))
  row.cells[7].append(button)
  return row
}

function showDevice(row, { device_id, type, name, state, is_initialized, operation, fault, simulated }) {
  row.dataset.state = state
  write(row.cells[0], device_id, simulated && 'SIMULATED')
  write(row.cells[1], type)
  write(row.cells[2], name)
  write(row.cells[3], state.replaceAll('_', ' '))
  write(row.cells[4], state === 'external' ? 'driven elsewhere' : is_initialized ? 'yes' : 'no')
  write(row.cells[5], operation ? `${operation.name.replaceAll('_', ' ')}, ${Math.ceil(operation.seconds_left)} s left` : '')
  write(row.cells[6], fault ? faultInWords(fault) : '')
  row.cells[7].hidden = state === 'external'
}

/** Touches the page only where something has changed. */
function write(cell, text, badge) {
  const whole = badge ? `${text} ${badge}` : text
  if (cell.textContent === whole) return
  cell.textContent = text
  if (!badge) return
  const mark = document.createElement('span')
  mark.className = 'badge'
  mark.textContent = badge
  cell.append(' ', mark)
}

function faultInWords({ command, error, may_still_be_moving }) {
  return `${command ? `${command}: ` : ''}${error}${may_still_be_moving ? ' (may still be moving)' : ''}`
}

/** Said aloud once, when they change. */
function showFaults(devices) {
  const faults = devices.filter(({ fault }) => fault).map(({ device_id, fault }) => `${device_id}: ${faultInWords(fault)}`)
  const text = faults.join('; ')
  if (text === seenFaults) return
  seenFaults = text
  the('faults').textContent = text ? `Fault on ${text}` : 'No faults'
}

async function stop(path, what) {
  say(`Stopping ${what} …`)
  try {
    const answer = await request(path, { method: 'POST', keepalive: true, signal: AbortSignal.timeout(answerWithin_ms) })
    if (!answer.ok) return say(`STOP of ${what} FAILED: ${await detailOf(answer)}`, true)
    const { success, message } = await answer.json()
    say(`${success ? 'Stopped' : 'STOP NOT CONFIRMED'} ${time(new Date())}: ${message}`, !success)
  } catch (error) {
    say(`STOP of ${what} NOT SENT: ${refusal(error)}. Use the red button of the instrument.`, true)
    if (error instanceof KeyRefused) ended(error)
  } finally {
    refresh()
  }
}

function refusal(error) {
  return error instanceof KeyRefused ? 'this browser has no valid key' : 'the service does not answer'
}

function say(text, bad = false) {
  the('said').textContent = text
  the('said').classList.toggle('bad', bad)
}

function showLink(live, words) {
  const text = live ? 'live' : `no events since ${time(new Date())}: ${words}`
  // The first moment counts, not each try.
  if (!live && the('link').dataset.live === 'lost') return
  the('link').dataset.live = live ? 'yes' : words === 'no key' ? 'no' : 'lost'
  the('link').textContent = words === 'no key' ? words : text
}

function onEvent({ event_name, timestamp, execution_id, context }) {
  addLine(timestamp, event_name, `${execution_id} ${JSON.stringify(context)}`)
  refresh()
}

function onNote(text) {
  addLine(Date.now() / 1000, 'stream', text)
}

/** Drawn with the next frame, so that a thousand a second cost no more than the two hundred that are seen. */
function addLine(timestamp, name, detail) {
  if (waiting.length === 0) requestAnimationFrame(drawLines)
  waiting.push([timestamp, name, detail])
  if (waiting.length > mostEvents) waiting.shift()
}

function drawLines() {
  const list = the('events')
  for (const line of waiting.splice(0)) list.prepend(lineOf(...line))
  while (list.childElementCount > mostEvents) list.lastElementChild.remove()
  the('no-events').hidden = true
}

function lineOf(timestamp, name, detail) {
  const line = document.createElement('li')
  const parts = { time: time(new Date(timestamp * 1000)), strong: name, span: detail }
  for (const [kind, text] of Object.entries(parts)) {
    const part = document.createElement(kind)
    part.textContent = text
    line.append(part, ' ')
  }
  line.dataset.type = name.split('.')[0]
  return line
}

function time(date) {
  return date.toLocaleTimeString('en-GB')
}

/** Acts on the press of a finger or a mouse, and on the keys that press a button. */
function pressable(button, when, act) {
  button.addEventListener(when, (event) => event.button === 0 && act())
  // A click without a pointer comes from the keyboard or from a screen reader.
  if (when !== 'click') button.addEventListener('click', (event) => event.detail === 0 && act())
}

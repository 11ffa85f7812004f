// The scenarios' common part: everything that happens, from `dist/` (or the folder that $BENCHD_DIST names), into small segments.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from './shared.mjs'

const { openEvents } = await load('src/events/open.js')
const { verifyLog } = await load('src/events/log_verify.js')

const commit_ms = 100
const heaps = 60
const heap = 12
const config = { system_id: 'system', events: { segment_mib: 0.03, commit_ms, queue: 1000 }, limits: { subscribers: 10 } }

/**
 * Acknowledges `through N`: the events up to that number have to be there. `removed`: those of the run `gone` must not be seen
 * any more. `spoil` is called before anything is opened for writing.
 */
export const happening = (spoil = () => {}) => ({
  async write(directory, acknowledge) {
    await spoil()
    const card = new Card()
    const hub = await opened(directory, { open: card.open })
    const reader = new Reader()
    hub.streams.subscribe({ outlet: reader })
    const told = []
    for (let i = 0, n = 0; i < heaps; i++) {
      const events = Array.from({ length: heap }, () => hub.emit('CUSTOM.n.EMITTED', contextOf(n), executionOf(n++)))
      if (i % 4 === 3) {
        // Synced before it is shown, and all that was emitted before it.
        await hub.stored(hub.emit(urgent[i % urgent.length], contextOf(n), executionOf(n)))
        await acknowledge(`through ${n++}`)
      } else {
        const last = n - 1
        const stored = hub.stored(events.at(-1))
        // At once: the next power cut may take these events, and then their ids must not come again.
        told.push(stored.then(() => acknowledge(`seen ${reader.ids.at(-1)}`)))
        told.push(stored.then(() => card.due()).then(() => acknowledge(`through ${last}`)))
      }
      if (i === heaps / 2) {
        await hub.remove('gone')
        await acknowledge(`removed ${n}`)
      }
      await sleep((i * 7) % 30)
    }
    await Promise.all(told)
    await hub.close()
  },

  async check(directory, acknowledged) {
    const through = Math.max(-1, ...numbersIn(acknowledged, 'through'))
    const [removed = 0] = numbersIn(acknowledged, 'removed')
    const newestSeen = Math.max(0, ...numbersIn(acknowledged, 'seen'))
    const isLost = newestSeen > newestIn(`${directory}/state/events`)
    const first = await withHub(directory, async (hub) => {
      const all = await hub.getEventsSince()
      await resumes(hub, newestSeen, isLost)
      return all
    })
    isOrdered(first)
    const seen = ours(first)
    for (const event of seen) {
      assert.deepEqual(event.context, contextOf(event.context.n), 'an event that was shown is torn')
      assert.equal(event.execution_id, executionOf(event.context.n), 'an event is of another execution')
    }
    const numbers = seen.map(({ context: { n } }) => n)
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
      'events came twice or out of order',
    )
    assert.equal(numbers.filter((n) => n < removed && executionOf(n) === 'gone').length, 0, 'a removed event came back')
    const there = new Set(numbers)
    for (let n = 0; n <= through; n++) {
      assert.ok(there.has(n) || executionOf(n) === 'gone', 'an acknowledged event, or one older than 100 ms, is lost')
    }
    await goesOn(directory, first)
  },
})

/** A reader that goes on behind the last id it has seen gets all that happens from now on, and is told when what it saw is lost. */
async function resumes(hub, seen, isLost) {
  const reader = new Reader()
  hub.streams.subscribe({ outlet: reader, after_seq: seen })
  const last = Array.from({ length: heap }, (_, i) => hub.emit('CUSTOM.after.EMITTED', { i })).at(-1)
  await hub.stored(last)
  while (reader.ids.length === 0 || reader.ids.at(-1) < hub.log.shown.seq) await sleep(1)
  assert.ok(reader.ids[0] > seen, 'an id that was shown came again')
  assert.ok(reader.ids.length >= heap, 'a reader that goes on misses events')
  assert.equal(reader.text.includes(': gap\n'), isLost, 'a gap is told where nothing is lost, or not told')
  const again = new Reader()
  hub.streams.subscribe({ outlet: again, after_seq: seen })
  while (again.ids.length < heap) await sleep(1)
  assert.equal(again.text.includes(': gap\n'), isLost, 'a gap is forgotten')
}

/**
 * Writing works after the cut, another start finds the same and more, and nothing damaged is left but what was set aside, and pages that
 * the kernel had not written: ext4 may record a file's new size and its new pages before the end of a page that was there already.
 */
async function goesOn(directory, before) {
  const last = await withHub(directory, async (hub) => {
    const event = hub.emit('EXECUTION.after.COMPLETED', { after: true })
    await hub.stored(event)
    return event
  })
  const all = await withHub(directory, (hub) => hub.getEventsSince())
  isOrdered(all)
  const kept = new Set(all.map(({ timestamp }) => timestamp))
  assert.ok(
    before.every(({ timestamp }) => kept.has(timestamp)),
    'an event is gone after another start',
  )
  assert.ok(kept.has(last.timestamp), 'the log cannot be written after the cut')
  const folder = `${directory}/state/events`
  const { damaged } = await verifyLog(folder)
  assert.deepEqual(
    damaged.filter((damage) => !isUnwritten(folder, damage)).map(({ problem }) => problem.replaceAll(/\d+/g, '…')),
    [],
    'the log is damaged',
  )
}

/** Whether the damage holds zeros, as pages that were never written do; no line has any. */
function isUnwritten(folder, { file, offset, bytes }) {
  return readFileSync(`${folder}/${file}`)
    .subarray(offset, offset + bytes)
    .includes(0)
}

const urgent = ['DEVICE.shaker-1.FAULTED', 'EXECUTION.run-1.COMPLETED', 'OPERATOR.INSTRUCTION', 'INCIDENT.x.OTHER']

function contextOf(n) {
  return { n, text: 'x'.repeat((n * 37) % 200) }
}

function executionOf(n) {
  return n % 5 === 0 ? 'gone' : 'run-1'
}

function ours(events) {
  return events.filter(({ context }) => context.n !== undefined)
}

function isOrdered(events) {
  for (let i = 1; i < events.length; i++) assert.ok(events[i].timestamp > events[i - 1].timestamp, 'a timestamp does not rise')
}

function numbersIn(acknowledged, word) {
  return acknowledged.filter((text) => text.startsWith(`${word} `)).map((text) => Number(text.slice(word.length + 1)))
}

async function withHub(directory, use) {
  const hub = await opened(directory)
  try {
    return await use(hub)
  } finally {
    await hub.close()
  }
}

function opened(directory, more = {}) {
  const log = { info() {}, warn() {}, error() {} }
  return openEvents({ folder: `${directory}/state`, config, log, ...more })
}

/** The highest id of a line that is whole. */
function newestIn(folder) {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')) : []
  const ids = files.flatMap((name) => {
    const text = readFileSync(`${folder}/${name}`, 'latin1')
    return [...text.matchAll(/^\{"crc":"[0-9a-f]{8}","seq": *(\d+),.*\}$/gm)].map(([, seq]) => Number(seq))
  })
  return Math.max(0, ...ids)
}

/** Takes all that a stream has. */
class Reader {
  text = ''

  write(bytes) {
    this.text += bytes
    return true
  }

  onDrain() {}
  end() {}

  get ids() {
    return [...this.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  }
}

/** Knows when the syncs that were under way at a moment are over. */
class Card {
  #running = new Set()

  open = async (...given) => {
    const file = await openFile(...given)
    const { datasync } = file
    file.datasync = () => {
      const running = datasync.call(file).finally(() => this.#running.delete(running))
      this.#running.add(running)
      return running
    }
    return file
  }

  /**
   * When the time has passed within which a sync has to have begun, and that sync is over. There is one at a time: with a card that
   * takes longer than that, the sync begins when the one before it is over, and a timer of no length has run out.
   */
  async due() {
    await sleep(commit_ms)
    await Promise.allSettled(this.#running)
    await sleep(5)
    await Promise.allSettled(this.#running)
  }
}

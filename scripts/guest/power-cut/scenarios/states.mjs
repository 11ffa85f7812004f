// The scenarios' common part: runs that count, from `dist/` (or the folder that $BENCHD_DIST names); their state is written with their events,
// and each count is a row of the run's record.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from './shared.mjs'

const { openEvents } = await load('src/events/open.js')
const { RunRecordFile, recordPath } = await load('src/events/run_record_file.js')
const { rowsOfRecord } = await load('src/events/run_record_reader.js')

const rounds = 4
const turns = 24
const config = { system_id: 'system', events: { segment_mib: 0.03, commit_ms: 50, queue: 1000 }, limits: { subscribers: 10 } }

/**
 * In each round two runs begin, count and end. Acknowledges `persisted ROUND A B`: how far they had counted when all was on the card; `ending
 * ROUND` before and `ended ROUND` after their state is dropped. `spoil` is called before anything is opened for writing.
 */
export const counting = (spoil = () => {}) => ({
  async write(directory, acknowledge) {
    await spoil()
    const hub = await opened(directory)
    for (let round = 1; round <= rounds; round++) {
      const runs = ['a', 'b'].map((name) => new Counting(hub, `${name}-${round}`))
      hub.states.add('bench', new Bench(runs))
      const persist = async () => {
        const counts = runs.map(({ count }) => count)
        await hub.log.persist()
        await acknowledge(`persisted ${round} ${counts.join(' ')}`)
      }
      await persist()
      for (let turn = 1; turn <= turns; turn++) {
        runs[(turn * round) % 3 === 0 ? 1 : 0].step(1 + (turn % 3))
        if (turn % 5 === 0) await persist()
        else await sleep((turn * 7) % 20)
      }
      await acknowledge(`ending ${round}`)
      for (const { id } of runs) hub.states.drop(id)
      hub.states.drop('bench')
      await hub.log.persist()
      await acknowledge(`ended ${round}`)
    }
    await hub.close()
  },

  async check(directory, acknowledged) {
    const [word, round, ...least] = acknowledged.at(-1)?.split(' ') ?? ['ended', '0']
    const found = await withHub(directory, (hub) => agreed(hub))
    for (const [i, name] of ['a', 'b'].entries()) {
      if (least[i] !== undefined) await mustHaveRows(directory, `${name}-${round}`, Number(least[i]))
    }
    const isThere = (name) => found.has(`${name}-${round}`)
    if (word === 'ended') assert.ok(!isThere('a') && !isThere('b'), 'the state of a run that has ended came back')
    if (word === 'persisted') {
      const begunAfter = found.has(`a-${Number(round) + 1}`)
      for (const [i, name] of ['a', 'b'].entries()) {
        assert.ok(isThere(name) || begunAfter, 'the state of a run is lost')
        assert.ok((found.get(`${name}-${round}`) ?? 0) >= Number(least[i]), 'what was persisted is lost')
      }
    }
    await goesOn(directory)
  },
})

/** Returns how far each run has counted. State and log tell of the same; a run that was refused is passed over, for it says why. */
async function agreed(hub) {
  const counts = new Map()
  const { runs } = hub.log.saved
  const bench = runs.get('bench')
  for (const [id, { keys, damage }] of runs) {
    if (id === 'bench') continue
    counts.set(id, damage === undefined ? keys.get('count') : Number.POSITIVE_INFINITY)
    if (damage !== undefined) continue
    const { count, last } = (await hub.getEventsForExecution(id)).at(-1)?.context ?? { count: 0, last: true }
    assert.ok(last, 'the log has a part of a turn')
    assert.equal(keys.get('count'), count, 'state and log tell of different turns')
    if (bench && bench.damage === undefined && bench.keys.has(id))
      assert.equal(bench.keys.get(id), count, 'what is written beside the runs is of another turn')
  }
  return counts
}

/** The record has a row for each count that was persisted, once and in order. */
async function mustHaveRows(directory, id, least) {
  const rows = await rowsOf(directory, id)
  assert.ok(rows.length >= least, 'a row of the record that was persisted is lost')
  assert.deepEqual(
    rows.map(({ count }) => count),
    rows.map((_, i) => i + 1),
    'the record has a row twice, or lacks one',
  )
}

async function rowsOf(directory, id) {
  const rows = []
  for await (const piece of rowsOfRecord(recordPath(`${directory}/state/executions`, id)))
    rows.push(...piece.rows.map((row) => JSON.parse(row)))
  return rows
}

/** Runs go on after the cut, and another start finds that. Rows that the state does not know are cut off. */
async function goesOn(directory) {
  const counts = new Map()
  await withHub(directory, async (hub) => {
    for (const [id, { keys, damage }] of hub.log.saved.runs) {
      if (id === 'bench') hub.states.drop(id)
      else if (damage === undefined) {
        const run = new Counting(hub, id, keys.get('count'))
        // A record that lost its end with the power has fewer rows than the run has counted, and says so.
        const missing = await run.record.reopen(keys.get('record') ?? 0)
        run.step(2)
        if (missing === 0) counts.set(id, run.count)
      } else hub.states.drop(id)
    }
    new Counting(hub, 'after').step(1)
    await hub.log.persist()
  })
  for (const [id, count] of counts) {
    assert.deepEqual(
      (await rowsOf(directory, id)).map((row) => row.count),
      Array.from({ length: count }, (_, i) => i + 1),
      'the record and the state tell of different counts',
    )
  }
  const found = await withHub(directory, (hub) => agreed(hub))
  assert.equal(found.get('after'), 1, 'no state can be written after the cut')
  assert.ok([...found.values()].every(Number.isFinite), 'a run is refused after an orderly end')
}

class Counting {
  standing = new Map()
  #hub

  constructor(hub, id, count = 0) {
    this.#hub = hub
    this.id = id
    this.count = count
    this.record = new RunRecordFile({ folder: hub.states.folder, execution_id: id })
    hub.states.add(id, this)
  }

  step(events) {
    this.count++
    this.record.add({ kind: 'value', count: this.count, text: 'x'.repeat(this.count * 9) })
    for (let i = 1; i <= events; i++) this.#hub.emit('CUSTOM.n.EMITTED', { count: this.count, last: i === events }, this.id)
    this.#hub.states.changed()
  }

  changes() {
    const text = String(this.count)
    const changes =
      this.standing.get('count') === text
        ? []
        : [
            ['count', text],
            ['record', String(this.record.length)],
            [`text ${this.count % 5}`, JSON.stringify('x'.repeat(this.count * 9))],
          ]
    for (const [key, value] of changes) this.standing.set(key, value)
    return new Map(changes)
  }
}

/** The notes that are written beside the runs: how far each of them has counted. */
class Bench {
  standing = new Map()
  #runs

  constructor(runs) {
    this.#runs = runs
  }

  changes() {
    const now = new Map(this.#runs.map(({ id, count }) => [id, String(count)]))
    const changes = [...now].filter(([id, text]) => this.standing.get(id) !== text)
    this.standing = now
    return changes
  }
}

async function withHub(directory, use) {
  const hub = await opened(directory)
  try {
    return await use(hub)
  } finally {
    await hub.close()
  }
}

function opened(directory) {
  const log = { info() {}, warn() {}, error() {} }
  return openEvents({ folder: `${directory}/state`, config, log })
}

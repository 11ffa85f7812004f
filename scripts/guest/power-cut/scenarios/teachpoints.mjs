// Writers on the teachpoint store, four at the same time, beginning with no folder.
import assert from 'node:assert/strict'
import { load } from '../../disks.mjs'

const { Teachpoints } = await load('src/teachpoints/store.js')
const { roundsOf, write: writeRound } = await load('src/testing/teachpoints.js')

const writers = [0, 1, 2, 3]
const rounds = 25

/** Acknowledges `writer round`. `spoil` is called before the store is opened for writing. */
export const storing = (spoil = () => {}) => ({
  async write(directory, acknowledge) {
    await spoil()
    const store = await opened(directory)
    await Promise.all(
      writers.map(async (writer) => {
        for (let round = 1; round <= rounds; round++) {
          await writeRound(store, writer, round)
          await acknowledge(`${writer} ${round}`)
        }
      }),
    )
    await store.close()
  },

  async check(directory, acknowledged) {
    const store = await opened(directory)
    try {
      for (const writer of writers) {
        const last = acknowledged.filter((text) => text.startsWith(`${writer} `)).length
        const isOf = roundsOf(store, writer)
        assert.ok(isOf(last) || isOf(last + 1), 'an acknowledged change is lost')
      }
      await writeRound(store, 1, rounds + 1)
    } finally {
      await store.close()
    }
    const again = await opened(directory)
    await again.close()
    assert.ok(roundsOf(again, 1)(rounds + 1), 'the store cannot be written after the cut')
  },
})

/** A store that has to report a damage has not been written in the right way. It is closed first: a disk with open files stays busy. */
async function opened(directory) {
  const told = []
  const store = await Teachpoints.open({ folder: `${directory}/state`, report: ({ message }) => told.push(message) })
  if (told.length) await store.close()
  assert.deepEqual(
    told.map((message) => message.replaceAll(/corrupt-\S+?Z/g, 'corrupt-…')),
    [],
  )
  return store
}

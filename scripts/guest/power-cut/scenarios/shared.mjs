// The scenarios' common part: writers on the teachpoint store of `dist/` (or of the folder that $BENCHD_DIST names).
import assert from 'node:assert/strict'
import { readlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const dist = process.env.BENCHD_DIST ?? fileURLToPath(new URL('../../../../dist', import.meta.url))
export const load = (path) => import(pathToFileURL(resolve(dist, path)))
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

/** From now on fsync and fdatasync do nothing for the files or folders that are chosen, by what they are and by their path. */
export async function without(chosen) {
  // All handles share what they can do.
  const handle = await open(dist)
  await handle.close()
  const handles = Object.getPrototypeOf(handle)
  for (const name of ['sync', 'datasync']) {
    const real = handles[name]
    handles[name] = async function () {
      // At once: the file may be closed meanwhile.
      const path = readlinkSync(`/proc/self/fd/${this.fd}`)
      if (!chosen(await this.stat(), path)) await real.call(this)
    }
  }
}

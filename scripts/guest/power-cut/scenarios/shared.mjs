// The scenarios' common part: writers on the teachpoint store of `dist/` (or of the folder that $BENCHD_DIST names).
import assert from 'node:assert/strict'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const dist = process.env.BENCHD_DIST ?? fileURLToPath(new URL('../../../../dist', import.meta.url))
export const load = (path) => import(pathToFileURL(resolve(dist, path)))
const { Teachpoints } = await load('src/teachpoints/store.js')
const { roundsOf, write: writeRound } = await load('src/teachpoints/testing.js')

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
  },

  async check(directory, acknowledged) {
    const store = await opened(directory)
    for (const writer of writers) {
      const last = acknowledged.filter((text) => text.startsWith(`${writer} `)).length
      const isOf = roundsOf(store, writer)
      assert.ok(isOf(last) || isOf(last + 1), 'an acknowledged change is lost')
    }
    await writeRound(store, 1, rounds + 1)
    assert.ok(roundsOf(await opened(directory), 1)(rounds + 1), 'the store cannot be written after the cut')
  },
})

/** A store that has to report a damage has not been written in the right way. */
function opened(directory) {
  const report = ({ message }) => assert.fail(message.replaceAll(/corrupt-\S+?Z/g, 'corrupt-…'))
  return Teachpoints.open({ folder: `${directory}/state`, report })
}

/** From now on fsync and fdatasync do nothing for the files or folders that are chosen. */
export async function without(chosen) {
  // All handles share what they can do.
  const handle = await open(dist)
  await handle.close()
  const handles = Object.getPrototypeOf(handle)
  for (const name of ['sync', 'datasync']) {
    const real = handles[name]
    handles[name] = async function () {
      if (!chosen(await this.stat())) await real.call(this)
    }
  }
}

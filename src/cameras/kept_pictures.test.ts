import { readdirSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { LabError } from '../errors.ts'
import { flatId } from '../kit/flat_id.ts'
import { KeptPictures } from './kept_pictures.ts'

const picture = (bytes: number, taken_at: number) => ({ bytes: new Uint8Array(bytes), media_type: 'image/png' as const, taken_at })
const mustHaveRoom = async () => undefined

test('a picture is kept with its incident, over a restart, and a draft of a power cut goes', async (t) => {
  const folder = t.testdir({})
  const kept = await KeptPictures.open({ folder, mustHaveRoom })
  const id = flatId()
  await kept.keep(id, 'deck_1', picture(10, 1_800_000_000.5))
  t.same(kept.of(id), ['deck_1'])
  writeFileSync(`${folder}/1800000000500_${id}_deck_1.png.1.tmp`, 'half')
  const again = await KeptPictures.open({ folder, mustHaveRoom })
  t.same(readdirSync(folder), [`1800000000500_${id}_deck_1.png`])
  t.match(await again.read(id, 'deck_1'), { media_type: 'image/png', taken_at: 1_800_000_000.5 })
  await t.rejects(again.read(id, 'other'), { code: 'not_found' })
  await t.rejects(again.read(flatId(), 'deck_1'), { code: 'not_found' })
})

test('the oldest go above a hundred, and above 32 MiB', async (t) => {
  const folder = t.testdir({})
  const kept = await KeptPictures.open({ folder, mustHaveRoom })
  const ids = Array.from({ length: 102 }, () => flatId())
  for (const [i, id] of ids.entries()) await kept.keep(id, 'deck', picture(10, 1_800_000_000 + i))
  t.equal(readdirSync(folder).length, 100)
  t.same(
    [ids[1]!, ids[2]!].map((id) => kept.of(id)),
    [[], ['deck']],
  )
  for (let i = 0; i < 33; i++) await kept.keep(flatId(), 'deck', picture(1024 * 1024, 1_800_001_000 + i))
  t.equal(readdirSync(folder).length, 32)
})

test('on a disk that is nearly full nothing is kept', async (t) => {
  const folder = t.testdir({})
  const full = async () => {
    throw new LabError('storage', 'the disk is nearly full')
  }
  const kept = await KeptPictures.open({ folder, mustHaveRoom: full })
  await t.rejects(kept.keep(flatId(), 'deck', picture(10, 1_800_000_000)), { code: 'storage' })
  t.same(readdirSync(folder), [])
})

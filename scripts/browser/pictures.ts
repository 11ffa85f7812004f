// Takes the pictures of the README: the eight screens, light, on a desk (1280x800) and on the bench screen (800x480), and a run while the
// centrifuge spins, one of a task of a person on the bench screen, and one of a report as on paper. Wants Debian's pngquant, which makes their files smaller.
//   npm run build && node dist/scripts/browser/pictures.js [FOLDER]     FOLDER: src/web/pictures; .ci/run takes them into another

import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { recordReport } from '../../src/testing/records.ts'
import { button, desk, goTo, openBench, seen, small } from './bench.ts'

/** The most that all of them may have, in bytes. */
const most = 600_000
const folder = process.argv[2] ?? 'src/web/pictures'
/** At the pace of real instruments only the committed pictures, which take six minutes. */
const time_scale = process.argv[2] ? 8 : 1
const slowly = { timeout: 600_000 }

/** Brings each screen to where its picture is taken. The run goes on meanwhile: its screen is first. */
const screens: Record<string, (page: Page) => Promise<unknown>> = {
  run: (page) => seen(page.getByRole('list', { name: 'Threads' }), 'worked on at sealer-1', slowly),
  async bench(page) {
    for (const id of ['shaker-1', 'sealer-1', 'centrifuge-1']) await button(page, `More of ${id}`).waitFor()
  },
  async device(page) {
    await page.getByRole('img', { name: /^temperature: / }).waitFor()
    await seen(page.getByRole('list', { name: /Operations/ }), /seal/i)
  },
  runs: (page) => page.getByRole('link', { name: 'seal-and-spin' }).first().waitFor(),
  deck: (page) => page.getByRole('button', { name: /^pad_1: / }).waitFor(),
  events: (page) => seen(page.getByRole('list', { name: /Events/ }), /./),
  async system(page) {
    await page.getByText(/ UTC, /).waitFor()
    await seen(page.getByRole('region', { name: 'Keys' }), 'the demo')
  },
}

const ofTask = (await pictureOfTask()) + (await picturesOfTeach())
const bench = await openBench({ time_scale })
try {
  const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
  const pages = await Promise.all([desk, small].map(async (size) => ({ size, page: await bench.open('/', size) })))
  let bytes = ofTask + (await pictureOfReport(await bench.open('/', { width: 900, height: 1270 })))
  for (const [screen, bring] of Object.entries(screens)) {
    for (const { size, page } of pages) {
      await goTo(page, { run: `runs/${execution_id}`, device: 'devices/sealer-1' }[screen] ?? screen)
      await bring(page)
      bytes += await take(page, `${folder}/${screen}-${size.width}x${size.height}.png`)
    }
  }
  if (bytes > most) throw new Error(`the pictures have ${bytes} bytes; ${most} is the most`)
  const page = await bench.open(`/#/runs/${execution_id}`, { width: 1000, height: 560 })
  await seen(page.getByRole('list', { name: 'Threads' }), 'worked on at centrifuge-1', slowly)
  await take(page, `${folder}/../run-screen.png`)
} finally {
  await bench.close()
}

/** Takes the picture of a task on the bench screen of a bench without a robot. Returns its bytes. */
async function pictureOfTask(): Promise<number> {
  const bench = await openBench({ hands: {}, time_scale })
  try {
    for (const id of ['shaker-1', 'sealer-1', 'hands']) await bench.ask('POST', `/api/devices/${id}/initialize`)
    const groups = [{ group_id: 'g1', members: { plate: { barcode: 'P-17' } } }]
    const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'shake-by-hand', run_mode: 'LIVE', groups })
    const page = await bench.open(`/#/runs/${execution_id}`, { width: 800, height: 480 })
    await page.getByLabel(/Barcode that was read/).fill('P-17')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Done' }).waitFor()
    return await take(page, `${folder}/task-800x480.png`)
  } finally {
    await bench.close()
  }
}

/** Takes the picture of the first page of a report. Returns its bytes. */
async function pictureOfReport(page: Page): Promise<number> {
  await page.setContent(await recordReport(3))
  return take(page, `${folder}/report-900x1270.png`)
}

/** Takes the pictures of the screen Teach, with an arm that is in no run. Returns their bytes. */
async function picturesOfTeach(): Promise<number> {
  const bench = await openBench({ time_scale })
  try {
    await bench.ask('POST', '/api/devices/arm-1/initialize')
    let bytes = 0
    for (const size of [desk, small]) {
      const page = await bench.open('/#/teach', size)
      await button(page, 'pad_1').click()
      await seen(page.getByRole('region', { name: 'Move arm-1' }), '200.0')
      bytes += await take(page, `${folder}/teach-${size.width}x${size.height}.png`)
    }
    return bytes
  } finally {
    await bench.close()
  }
}

/** Writes the picture in 256 colours at most, which nobody sees and the file does, and returns its bytes. */
async function take(page: Page, path: string): Promise<number> {
  await page.screenshot({ path, animations: 'disabled' })
  execFileSync('pngquant', ['--force', '--nofs', '--output', path, '256', path])
  console.log(path)
  return statSync(path).size
}

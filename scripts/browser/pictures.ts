// Takes the pictures of the seven screens for the README: light, on a desk (1280x800) and on the bench screen (800x480), and one of a task there.
//   npm run build && node dist/scripts/browser/pictures.js [FOLDER [dark]]     FOLDER: src/web/pictures

import { mkdirSync, writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { type Bench, openBench } from './bench.ts'
import { smallPng } from './small_png.ts'

/** The most that all of them may have, in bytes. */
const most = 600_000
const [, , folder = 'src/web/pictures', look] = process.argv
const sizes = [
  [1280, 800],
  [800, 480],
] as const

/** Brings each screen to where its picture is taken. */
const screens: Record<string, (page: Page) => Promise<unknown>> = {
  async bench(page) {
    for (const name of ['Shake', 'Seal', 'Centrifuge']) await page.getByRole('button', { name, exact: true }).waitFor()
  },
  runs: (page) => page.getByRole('link', { name: 'seal-and-spin' }).first().waitFor(),
  run: (page) => page.getByRole('list', { name: 'Threads' }).getByText('worked on at sealer-1').first().waitFor({ timeout: 600_000 }),
  deck: (page) => page.getByRole('region', { name: 'Positions' }).getByText('pad_1').waitFor(),
  teach: (page) => page.getByRole('button', { name: 'pad_1', exact: true }).click(),
  events: (page) =>
    page
      .getByRole('list', { name: /Events/ })
      .getByRole('listitem')
      .first()
      .waitFor(),
  async system(page) {
    await page.getByText(/ UTC, /).waitFor()
    await page.getByRole('region', { name: 'Keys' }).getByText('the demo').waitFor()
  },
}

mkdirSync(folder, { recursive: true })
const ofTask = await pictureOfTask()
const bench = await openBench({ time_scale: 1 })
try {
  const execution_id = await started(bench)
  let bytes = ofTask
  const pages = await Promise.all(
    sizes.map(async ([width, height]) => ({
      size: `${width}x${height}`,
      page: await bench.open('/', { width, height, dark: look === 'dark' }),
    })),
  )
  // The run goes on meanwhile: its screen is first.
  for (const screen of ['run', ...Object.keys(screens).filter((name) => name !== 'run')]) {
    for (const { size, page } of pages) {
      await page.evaluate(`location.hash = '#/${screen === 'run' ? `runs/${execution_id}` : screen}'`)
      await screens[screen]!(page)
      bytes += await taken(page, `${screen}-${size}`)
    }
  }
  if (bytes > most) throw new Error(`the pictures have ${bytes} bytes; ${most} is the most`)
} finally {
  await bench.close()
}

/** Takes the picture of a task on the bench screen of a bench without a robot. Returns its bytes. */
async function pictureOfTask(): Promise<number> {
  const bench = await openBench({ hands: {}, time_scale: 1 })
  try {
    for (const id of ['shaker-1', 'sealer-1', 'hands']) await bench.ask('POST', `/api/devices/${id}/initialize`)
    const groups = [{ group_id: 'g1', members: { plate: { barcode: 'P-17' } } }]
    const { execution_id } = await bench.ask('POST', '/api/submissions', { workflow: 'shake-and-seal', run_mode: 'LIVE', groups })
    const page = await bench.open(`/#/runs/${execution_id}`, { width: 800, height: 480, dark: look === 'dark' })
    await page.getByLabel(/Barcode that was read/).fill('P-17')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Done' }).waitFor()
    return await taken(page, 'task-800x480')
  } finally {
    await bench.close()
  }
}

/** Writes the picture of a page. Returns its bytes. */
async function taken(page: Page, name: string): Promise<number> {
  const path = `${folder}/${name}.png`
  const picture = smallPng(await page.screenshot({ animations: 'disabled' }))
  writeFileSync(path, picture)
  console.log(path)
  return picture.length
}

async function started({ ask }: Bench): Promise<unknown> {
  const { execution_id } = await ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode: 'LIVE' })
  return execution_id
}

// A real service on the demo's bench, a real Chromium, and a list of checks to be run in it.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { checkConfig, readConfig } from '../../src/config.ts'
import { prepareDemo } from '../../src/examples/demo.ts'
import { demoBench } from '../../src/examples/demo_bench.ts'
import { handsBench } from '../../src/examples/hands.ts'
import { makeThrowAwayFolder, removeFolder } from '../../src/kit/folder.ts'
import { silent } from '../../src/kit/log.ts'
import { type Service, startService } from '../../src/main.ts'

/** `asksName`: the browser asks for the name of its person, as one that was not here before. `ahead_s`: how far the clock of that computer is ahead of ours. `prepare` is called before the page is loaded. */
type Opening = {
  width?: number
  height?: number
  dark?: boolean
  withKey?: boolean
  touch?: boolean
  ahead_s?: number
  asksName?: boolean
  prepare?: (page: Page) => Promise<unknown>
}

export type Bench = {
  url: string
  api_key: string
  /** A new window, which has not been here before. */
  open(path: string, options?: Opening): Promise<Page>
  /** Returns the answer of the API; fails for an error. */
  ask(method: string, path: string, body?: object): Promise<Record<string, unknown>>
  /** Ends the service, waits for what is done while it is away, and starts it anew, on the same port and folder, `safe` in safe mode. */
  restart(whileAway: () => Promise<void>, safe?: boolean): Promise<void>
  /** Closes every window: an open page goes on showing what happens on the bench. */
  closeWindows(): Promise<void>
  close(): Promise<void>
  /** The complaints of the pages: errors, refused loads, requests to other hosts. */
  complaints: string[]
}

/** Windows of a bench screen, a phone and a desk. */
export const [small, phone, desk] = [
  { width: 800, height: 480 },
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
] as const

/** The devices of the demo. */
export const ids = ['shaker-1', 'sealer-1', 'centrifuge-1', 'arm-1']

/** The answer to a stop. On a busy machine a simulated instrument may acknowledge late, and the page says so. */
export const answered = /Every device confirmed STOP ALL|STOP NOT CONFIRMED: stop sent to all/

export function card(page: Page, device_id: string): Locator {
  return page.getByRole('article', { name: device_id, exact: true })
}

export function button(within: Page | Locator, name: string): Locator {
  return within.getByRole('button', { name, exact: true })
}

/** The button of a card that would move the device: of one that is ready its first operation, of any other *Initialize*. */
export function motionButton(card: Locator): Locator {
  // The operations that were used most stand in front, whichever these are.
  return card.getByRole('button', { name: /^(Initialize|Shake|Lock plate|Unlock plate|Set temperature)$/ }).first()
}

/** Opens the form of an operation of a device, from its card or from the menu of the card, and returns the sheet. */
export async function openForm(page: Page, device_id: string, operation: string): Promise<Locator> {
  const its = card(page, device_id)
  await its.getByText('ready', { exact: true }).waitFor()
  const inFront = button(its, operation)
  if (await inFront.isVisible()) await inFront.click()
  else {
    await button(its, `More of ${device_id}`).click()
    await button(page.getByRole('dialog', { name: device_id, exact: true }), operation).click()
  }
  const sheet = page.getByRole('dialog', { name: `${operation} · ${device_id}` })
  await sheet.waitFor()
  return sheet
}

/** Stops the open runs, waits until they have ended, and takes their labware off the bench. */
export async function endRuns({ ask }: Bench): Promise<void> {
  type Runs = { executions: { execution_id: string; ended_at: number | null }[] }
  const open = async () => ((await ask('GET', '/api/executions')) as Runs).executions.filter(({ ended_at }) => ended_at === null)
  for (let runs = await open(); runs.length > 0; runs = await open())
    for (const { execution_id } of runs)
      for (const confirm of [false, true]) await ask('POST', `/api/executions/${execution_id}/stop`, { confirm }).catch(() => {})
  const { labware } = (await ask('GET', '/api/labware')) as { labware: { labware_id: string; run_mode: string }[] }
  for (const { labware_id, run_mode } of labware)
    if (run_mode === 'LIVE') await ask('PUT', `/api/labware/${labware_id}/location`, { position: null })
}

/** The card of something that waits for a person. */
export function needOf(page: Page, name?: RegExp): Locator {
  return page.getByRole('region', { name: 'Needs you' }).getByRole('article', { ...(name && { name }) })
}

/** Waits until a text is shown, or is shown no more. It may be there several times, also where it is folded away. */
export async function seen(
  within: Page | Locator,
  text: string | RegExp,
  options: { timeout?: number; state?: 'detached' } = {},
): Promise<void> {
  await within.getByText(text).filter({ visible: true }).first().waitFor(options)
}

/** Presses something that downloads a file, and returns the name of the file. */
export async function downloaded(page: Page, press: Locator): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), press.click()])
  return download.suggestedFilename()
}

/** Scans a barcode with a scanner that types: its keystrokes are 5 ms apart, also on a computer that passes them on later. */
export async function scan(page: Page, barcode: string): Promise<void> {
  const keyboard = await page.context().newCDPSession(page)
  const begun_s = Date.now() / 1000
  for (const [i, key] of [...barcode, 'Enter'].entries()) {
    const stroke = { key, timestamp: begun_s + i * 0.005, ...(key === 'Enter' && { code: key, windowsVirtualKeyCode: 13 }) }
    await keyboard.send('Input.dispatchKeyEvent', { ...stroke, type: 'keyDown', text: key === 'Enter' ? '\r' : key })
    await keyboard.send('Input.dispatchKeyEvent', { ...stroke, type: 'keyUp' })
  }
  await keyboard.detach()
}

/** Keeps a picture of the page in $BENCHD_SCREENSHOTS, if that is set. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.BENCHD_SCREENSHOTS
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

export async function goTo(page: Page, screen: string): Promise<void> {
  await page.evaluate(`location.hash = '#/${screen}'`)
}

export async function widthOf(page: Page): Promise<number> {
  return Number(await page.evaluate('document.documentElement.scrollWidth'))
}

export async function holdToContinue(page: Page): Promise<void> {
  const hold = button(page, 'Hold to continue')
  await hold.focus()
  await page.keyboard.down('Enter')
  await hold.waitFor({ state: 'detached' })
  await page.keyboard.up('Enter')
}

/** Presses a button that asks once more, and begins again where the page has taken the question back meanwhile, as it does when the device changes. */
export async function pressTwice(within: Page | Locator, name: string): Promise<void> {
  const again = within.getByRole('button', { name: /press again$/ })
  for (let left = 5; ; left--) {
    if (!(await again.isVisible())) await button(within, name).click()
    try {
      return await again.click({ timeout: left > 0 ? 5000 : undefined })
    } catch (error) {
      if (left === 0) throw error
    }
  }
}

/** Nothing takes so long but on a machine with much else to do. */
const patience_ms = 180_000
const executablePath = process.env.BENCHD_CHROMIUM ?? '/usr/bin/chromium'

const chromiumFolders: string[] = []

function removeChromiumFolders(): void {
  for (const folder of chromiumFolders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Starts Chromium with a folder of its own for temporary files, because it leaves some there when it is closed. */
export async function launchChromium(): Promise<Browser> {
  const TMPDIR = await makeThrowAwayFolder('benchd-chromium')
  if (chromiumFolders.push(TMPDIR) === 1) process.once('exit', removeChromiumFolders)
  const silent = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', ...silent],
    env: { ...process.env, TMPDIR },
  })
}

/**
 * `data_dir` is made, and removed at the end, where it is not given; `devices` stand on the bench besides those of the demo. `hands` are the settings
 * of the person on a bench without a robot, which is then opened instead.
 */
export async function openBench({ data_dir, ...more }: { data_dir?: string } & More = {}): Promise<Bench> {
  const folder = data_dir ?? (await makeThrowAwayFolder('benchd-browser'))
  const start = (port: number, safe = false) => startBench({ folder, port, safe, ...more })
  let service = await start(0)
  const { url } = service
  const port = Number(new URL(url).port)
  const api_key = await prepareDemo(service.bench, more.hands ? 'hands' : 'small')
  const browser = await launchChromium()
  const complaints: string[] = []
  return {
    url,
    api_key,
    complaints,
    open: (path, options = {}) => open(browser, { url, api_key, complaints }, path, options),
    async ask(method, path, body) {
      const headers = { 'X-API-Key': api_key, ...(body && { 'Content-Type': 'application/json' }) }
      const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const content = (await answer.json()) as Record<string, unknown>
      if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${content.detail}`)
      return content
    },
    async restart(whileAway, safe) {
      await service.close()
      await whileAway()
      service = await start(port, safe)
    },
    async closeWindows() {
      for (const context of browser.contexts()) await context.close()
    },
    async close() {
      await browser.close()
      await service.close()
      if (data_dir === undefined) await removeFolder(folder)
    },
  }
}

type More = {
  hands?: object
  devices?: readonly object[]
  fleet?: object
  time_scale?: number
  cameras?: readonly object[]
  /** Topologies besides those of the demo. */
  topologies?: readonly { name: string }[]
  /** Whether the bench has a configuration file, in its data folder. */
  has_file?: boolean
}
type Starting = More & { folder: string; port: number; safe: boolean }

async function startBench({
  folder,
  port,
  safe,
  hands,
  devices = [],
  has_file,
  topologies: own = [],
  ...more
}: Starting): Promise<Service> {
  const topologies = `${folder}/topologies`
  mkdirSync(topologies, { recursive: true })
  for (const one of own) writeFileSync(`${topologies}/${one.name}.json`, JSON.stringify(one))
  const listen = { host: '127.0.0.1', port }
  const withPerson = handsBench.devices.map((one) => (one.driver === 'person' ? { ...one, settings: hands } : one))
  const all = { ...demoBench, devices: [...(hands ? withPerson : demoBench.devices), ...devices], time_scale: 50, listen, ...more }
  if (!has_file) return startService(await checkConfig(all, 'the bench'), { data_dir: folder, topologies, log: silent, safe })
  const path = `${folder}/config.json`
  if (!existsSync(path))
    writeFileSync(path, `// The bench of the scene.\n${JSON.stringify({ ...all, listen: { ...listen, port: 0 } }, null, 2)}\n`)
  const source = { path, read: () => readConfig(path) }
  return startService(await readConfig(path), { data_dir: folder, topologies, log: silent, safe, source })
}

async function open(
  browser: Browser,
  { url, api_key, complaints }: Pick<Bench, 'url' | 'api_key' | 'complaints'>,
  path: string,
  { width = 1280, height = 800, dark = false, withKey = true, touch = false, ahead_s = 0, asksName = false, prepare }: Opening,
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', hasTouch: touch })
  context.setDefaultTimeout(patience_ms)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  if (withKey) await context.addInitScript(`localStorage.setItem('benchd.api_key', ${JSON.stringify(api_key)})`)
  const noName = `try { localStorage.getItem('benchd.operator') ?? localStorage.setItem('benchd.operator', '') } catch {}`
  // A document that is not of the service, as that of a browser without a connection, has no storage.
  if (!asksName) await context.addInitScript(noName)
  if (ahead_s) await context.addInitScript(`const now = Date.now; Date.now = () => now() + ${ahead_s * 1000}`)
  const page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(`${path}: ${error}`))
  page.on('console', (message) => {
    // The browser writes a line of its own for each answer that is an error, and for a service that is away.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(`${path}: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) complaints.push(`${path}: asked for ${request.url()}`)
  })
  page.on('dialog', (dialog) => {
    complaints.push(`${path}: a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await prepare?.(page)
  await page.goto(url + path)
  return page
}

// The files of `benchd bridge new --pylabrobot`, and what to do with them.

import { join } from 'node:path'
import { readText } from '../kit/files.ts'
import { exists } from '../kit/folder.ts'
import { quoted } from '../kit/installation.ts'
import { readShipped } from '../kit/shipped.ts'
import { CliError } from './exit.ts'

const libraries = ['benchd_bridge.py', 'benchd_bridge_pylabrobot.py', 'benchd_bridge_arms.py']

/** Returns the texts of the files by their names. Throws where another version of one is in the folder: the three work together. */
export async function librariesFor(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const name of libraries) {
    files[name] = new TextDecoder().decode(await readShipped(new URL(`../../web/clients/${name}`, import.meta.url)))
    const path = join(folder, name)
    if (exists(path) && (await readText(path)) !== files[name])
      throw new CliError('busy', `${path} is there already, in another version; remove it, or take another --folder`)
  }
  return files
}

/** The Python of a bridge, and the class of PyLabRobot with its parameters and options. */
export type PythonWords = { python: string; words: readonly string[] }

/** Returns the command of a bridge, with the library in a folder. */
const commandIn = (folder: string, { python, words }: PythonWords) => [python, join(folder, 'benchd_bridge.py'), 'pylabrobot', ...words]

export type Described = { type: string; proposed_halt: readonly string[] | undefined }

/** Asks the program in the folder for its description. Returns a sentence where it has none, such as without PyLabRobot. */
export async function describedBy(folder: string, its: PythonWords): Promise<Described | string> {
  const [{ TriedProgram }, { settings: Settings }, { checked }] = await Promise.all([
    import('../../drivers/bridge/trial/program.ts'),
    import('../../drivers/bridge/bridge.ts'),
    import('../kit/schema.ts'),
  ])
  const command = commandIn(folder, its)
  const program = new TriedProgram({ command, settings: checked(Settings, {}, 'settings'), signal: new AbortController().signal })
  try {
    await program.describe()
    const { type, proposed_halt } = program.description
    return { type, proposed_halt }
  } catch (error) {
    return program.sentenceOf(error)
  }
}

/** Returns the device of a configuration. `type` is the word TYPE where nobody knows it. */
export function deviceOf(name: string, type: string, its: PythonWords) {
  const command = commandIn('/etc/benchd/bridges', its)
  return { device_id: name, driver: 'bridge', type, transport: { kind: 'bridge', command } }
}

/** Returns lines that say what to do with the files, the next step last. */
export function stepsOf(name: string, its: PythonWords, folder: string, described: Described | string, type: string): string[] {
  const isKnown = typeof described !== 'string'
  const halts = isKnown ? described.proposed_halt : its.words.includes('--halt') ? undefined : ['METHODS']
  const again = 'Mend that (--python names another Python), then type this command again: it fills in TYPE and METHODS.'
  const accept = `  no LIVE run uses it before its command accepts the halts that it proposes: "--halt", ${JSON.stringify(halts?.join(','))}`
  return [
    '',
    ...(isKnown ? [] : [`It has not described itself: ${described}`, again]),
    'When its trial has passed, on the bench:',
    `  sudo install -D -t /etc/benchd/bridges ${libraries.join(' ')}`,
    `  a device in /etc/benchd/config.json: ${JSON.stringify(deviceOf(name, type, its))}`,
    ...(halts ? [accept] : []),
    `  sudo systemctl reload benchd && sudo systemctl enable --now benchd-bridge@${name}.socket`,
    'Now, here, with the instrument connected:',
    `  cd ${folder}`,
    `  benchd bridge try -- ${commandIn('', its).map(quoted).join(' ')}`,
  ]
}

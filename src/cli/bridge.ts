// `benchd bridge …`: begins the program of a bridge, and tries it without a bench.

import { join, resolve } from 'node:path'
import { parameterValue, type TypedSchema } from '../clients/ts/parameter_value.ts'
import { inSentence } from '../kit/did_you_mean.ts'
import { exists, isFile } from '../kit/folder.ts'
import { bridgeTypes, filesOf, mustBeName, nextSteps } from './bridge_skeleton.ts'
import { command } from './command.ts'
import { CliError, exitCodes } from './exit.ts'
import { decimal } from './numbers.ts'
import { print } from './table.ts'
import { colored, mustBeSure, note, yesOption } from './terminal.ts'

type Result = import('../../drivers/bridge/trial/checklist.ts').Result
type Position = import('../../drivers/bridge/trial/checklist.ts').Position

const bridgeNew = command({
  name: 'bridge new',
  summary:
    'Write the program of a bridge with a stand-in for its instrument, a unit test, and the library; or a bridge of a class of PyLabRobot',
  operands: ['NAME', '[WORD…]'],
  options: {
    pylabrobot: {
      type: 'string',
      value: 'CLASS',
      help: 'Class of PyLabRobot behind the device, in place of a stand-in; each WORD is a parameter NAME=VALUE of the class, or, after --, an option of its bridge',
    },
    python: { type: 'string', value: 'FILE', help: 'Python that has PyLabRobot; default python3' },
    type: { type: 'string', value: 'TYPE', help: `Type of the device: ${bridgeTypes.join(', ')}, or another word; default reader` },
    folder: { type: 'string', value: 'DIR', help: 'Folder of the files; default: the present one' },
  },
  example: 'benchd bridge new balance --type scale',
  async run({ options, operands: [name = '', ...words] }) {
    const folder = resolve(options.folder ?? '.')
    if (options.pylabrobot !== undefined) return newOfPylabrobot(name, [options.pylabrobot, ...words], folder, options)
    if (words.length > 0) throw new CliError('usage', `bridge new ${name} takes no ${words[0]} without --pylabrobot CLASS`)
    const files = await filesOf(name, options.type ?? 'reader')
    const there = Object.keys(files).find((file) => file !== library && exists(join(folder, file)))
    if (there)
      throw new CliError('busy', `${join(folder, there)} is there already and stays as it is; take another name, or another --folder`)
    const written = await writeNew(folder, files)
    if (options.json) return print(JSON.stringify({ folder, files: written }))
    print(
      [`wrote ${written.map((file) => join(folder, file)).join(', ')}`, ...nextSteps(name, options.type ?? 'reader', folder)].join('\n'),
    )
  },
})

/** Writes the files that are not there. Returns their names. */
async function writeNew(folder: string, files: Record<string, string>): Promise<string[]> {
  const { createSynced } = await import('../kit/durable.ts')
  const written = Object.keys(files).filter((file) => !exists(join(folder, file)))
  for (const file of written) await createSynced(join(folder, file), files[file]!, { mode: 0o644, isNew: true })
  return written
}

/** Writes the files of a bridge of PyLabRobot, and prints its device. `words` are its class and the parameters and options of that. */
async function newOfPylabrobot(
  name: string,
  words: string[],
  folder: string,
  options: { type?: string; python?: string; json?: boolean },
): Promise<void> {
  const { describedBy, deviceOf, librariesFor, stepsOf } = await import('./bridge_pylabrobot.ts')
  // No file has this name, so it may be `shaker-1`.
  mustBeName(name.replaceAll('-', '_'), options.type ?? 'shaker')
  const python = options.python ?? 'python3'
  const its = { python: python.includes('/') ? resolve(python) : python, words }
  if (options.type) words.push('--type', options.type)
  const written = await writeNew(folder, await librariesFor(folder))
  const described = await describedBy(folder, its)
  const { type, proposed_halt } = typeof described === 'string' ? { type: options.type ?? 'TYPE', proposed_halt: undefined } : described
  if (options.json) return print(JSON.stringify({ folder, files: written, device: deviceOf(name, type, its), proposed_halt }))
  const paths = written.map((file) => join(folder, file)).join(', ')
  print(
    [written.length > 0 ? `wrote ${paths}` : `its files are in ${folder} already`, ...stepsOf(name, its, folder, described, type)].join(
      '\n',
    ),
  )
}

const library = 'benchd_bridge.py'
/** Signals that end a trial, which halts the instrument first: Ctrl-C, a kill, and a terminal that is closed. */
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const bridgeTry = command({
  name: 'bridge try',
  summary: 'Check the program of a bridge: each operation, and halts and kills during it. The instrument moves',
  operands: ['FILE', '[ARG…]'],
  options: {
    with: {
      type: 'string',
      value: 'OP.PARAM=VALUE',
      multiple: true,
      help: 'Value of a parameter; default: its default, else the smallest',
    },
    skip: { type: 'string', value: 'OP', multiple: true, help: 'Operation to leave out' },
    only: { type: 'string', value: 'OP', multiple: true, help: 'Operation to try; default: all' },
    position: {
      type: 'string',
      value: 'NAME[=X,Y,Z,YAW,PITCH,ROLL]',
      help: 'For a transporter: where labware stands that it may pick and place; the pose if it goes to teachpoints',
    },
    settings: { type: 'string', value: 'JSON', help: 'Settings of the device, as in the configuration' },
    ...yesOption,
  },
  example: 'benchd bridge try balance.py --skip tare --yes',
  async run({ options, operands }) {
    const [{ tryBridge }, { settings: Settings }, { checked }, { parseJson }] = await Promise.all([
      import('../../drivers/bridge/trial/checklist.ts'),
      import('../../drivers/bridge/bridge.ts'),
      import('../kit/schema.ts'),
      import('../kit/json.ts'),
    ])
    const interrupted = new AbortController()
    const interrupt = () => {
      note('interrupted: the instrument is halted, and the trial ends')
      interrupted.abort(new CliError('interrupted', 'the trial was interrupted before its end'))
    }
    for (const signal of endings) process.once(signal, interrupt)
    const shown = lines()
    try {
      const results = await tryBridge({
        command: commandOf(operands),
        settings: checked(Settings, parseJson(options.settings ?? '{}', '--settings'), '--settings'),
        values: valuesOf(options.with ?? []),
        skip: options.skip ?? [],
        only: options.only ?? [],
        position: options.position === undefined ? undefined : positionOf(options.position),
        confirm: (deed) => mustBeSure(options, deed),
        show: options.json ? () => undefined : shown.add,
        signal: interrupted.signal,
      }).finally(shown.end)
      const counts = countsOf(results)
      if (options.json) print(JSON.stringify({ command: commandOf(operands), ...counts, checks: results }))
      else print(summaryOf(counts))
      return counts.failed > 0 ? exitCodes.failed[0] : exitCodes.ok[0]
    } finally {
      for (const signal of endings) process.removeListener(signal, interrupt)
    }
  },
})

export const commands = [bridgeNew, bridgeTry]

/** Returns the command of the program. It is started in the folder /, as on a bench, so that files are named by their whole paths. */
function commandOf(words: readonly string[]): string[] {
  const [first = '', ...rest] = words.map((word) => (isFile(resolve(word)) ? resolve(word) : word))
  const isHere = isFile(first)
  if (!isHere && rest.length === 0) throw new CliError('not_found', `there is no file ${first}; to make one: benchd bridge new NAME`)
  return first.endsWith('.py') ? ['python3', first, ...rest] : [first, ...rest]
}

/** Values of parameters by their places, each understood by the schema of its parameter, as `devices perform` does it. */
function valuesOf(given: readonly string[]): Record<string, (schema: object) => unknown> {
  return Object.fromEntries(
    given.map((text) => {
      const [, place, value] = /^(\w+\.\w+)=([\s\S]*)$/.exec(text) ?? []
      if (place === undefined)
        throw new CliError('usage', `--with ${text} is not OPERATION.PARAMETER=VALUE, for example read.wavelength=450`)
      return [place, (schema: object) => typedValue(value!, schema)]
    }),
  )
}

function typedValue(text: string, schema: TypedSchema): unknown {
  try {
    return parameterValue(text, schema)
  } catch {
    return text
  }
}

function positionOf(text: string): Position {
  const [name = '', coords] = text.split('=')
  if (coords === undefined) return { name, pose: undefined }
  const pose = coords.split(',').map(decimal)
  if (pose.length === 6 && pose.every(Number.isFinite)) return { name, pose }
  throw new CliError('usage', `--position ${text} is not NAME=X,Y,Z,YAW,PITCH,ROLL, for example pad_1=120,0,50,0,0,0`)
}

const words = { pass: ['pass', 'green'], note: ['note', 'yellow'], fail: ['FAIL', 'red'], not_tried: ['-   ', 'gray'] } as const

/** Prints each result; checks that follow each other and were not tried for the same reason in one line. */
function lines() {
  let waiting: Result[] = []
  const end = () => {
    const [first] = waiting
    if (first) print(inLines({ ...first, check: inSentence(waiting.map(({ check }) => check)) }))
    waiting = []
  }
  const add = (result: Result) => {
    if (waiting[0]?.what !== result.what || result.outcome !== 'not_tried') end()
    waiting.push(result)
    if (result.outcome !== 'not_tried') end()
  }
  return { add, end }
}

function inLines({ check, outcome, what, stderr }: Result): string {
  const [word, color] = words[outcome]
  const said = (stderr ?? '').split('\n').slice(-12)
  const lines = stderr ? said.map((line) => `\n      | ${line}`).join('') : ''
  return `${colored(color, word)}  ${check.padEnd(28)}  ${outcome === 'not_tried' ? 'not tried: ' : ''}${what}${lines}`
}

type Counts = { passed: number; failed: number; not_tried: number }

function countsOf(results: readonly Result[]): Counts {
  const count = (...outcomes: Result['outcome'][]) => results.filter(({ outcome }) => outcomes.includes(outcome)).length
  return { passed: count('pass', 'note'), failed: count('fail'), not_tried: count('not_tried') }
}

function summaryOf({ passed, failed, not_tried }: Counts): string {
  const seen = 'Only a person sees whether the instrument stands after a halt: watch it.'
  const counts = `${passed} passed, ${failed} failed, ${not_tried} not tried.`
  return failed > 0 ? `${counts} Mend the program, and try it again. ${seen}` : `${counts} ${seen}`
}

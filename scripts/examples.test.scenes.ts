// How the examples of each guide are typed: the scene that an example needs, and the few that cannot be typed here, with the reason.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Demo, Shell } from './examples.test.shell.ts'

/** `swap` has a text of the guide replaced in each later example. */
export type Stage = { top: string; demo: Demo; shell: Shell; swap(from: string, to: string): void }

export type Scene = {
  /** Sets up what the guide takes for granted from its first example on. */
  begin?(stage: Stage): Promise<void>
  /** By the beginning of an example: what somebody else does before it. */
  before?: Record<string, (stage: Stage) => Promise<void>>
  /** By the beginning of an example: why it cannot be typed here, or the test that runs it, by its path. */
  elsewhere?: Record<string, string>
}

const systemd = 'it wants systemd, or changes this computer: scripts/guest/tests/installed.ts does so in the guest'
const instrument = 'it wants a real port, or somebody at it'
const lab = 'it wants a lab with its broker and its database: src/cli/lab_demo.test.ts'

/** By the path of the guide. A guide that is not here needs no scene, and each of its examples is typed. */
export const scenes: Record<string, Scene> = {
  'README.md': {
    elsewhere: {
      'npm install && npm start': 'scripts/readme.long.test.ts',
      'npm install && npm test': 'it is the call of this test',
      'sudo apt install ./benchd_*.deb': systemd,
      'sudo benchd init': systemd,
    },
    before: {
      'sudo benchd devices init shaker-1': async ({ shell }) => void (await shell.type('benchd devices init shaker-1 --yes')),
    },
  },
  'drivers/README.md': {
    before: {
      'benchd serve': async ({ top, shell, swap }) => {
        const text = readFileSync(join(top, 'drivers/README.md'), 'utf8')
        const [, program = ''] = /^```python\n(from benchd_bridge.*?)^```/ms.exec(text)!
        const [, config = ''] = /Write `bench\.json`.*?^```json\n(.*?)^```/ms.exec(text)!
        const bridges = `${shell.folder}/bridges`
        writeFileSync(`${bridges}/reader.py`, program.replace('sleep(10)', 'sleep(0.01)'))
        writeFileSync(`${bridges}/bench.json`, config.replace('/home/you/bridges', bridges).replace('8521', '0'))
        swap(
          'benchd serve --config bench.json --data-dir data',
          'unset BENCHD_URL; benchd serve --config bench.json --data-dir data >served 2>&1 &',
        )
      },
      'benchd devices initialize reader-1 --data-dir data': async ({ shell }) => {
        await shell.type('until benchd devices caps reader-1 --data-dir data | grep -q wavelength; do :; done')
      },
      'curl -X POST': async ({ shell }) => {
        await shell.type(
          'benchd devices initialize reader-1 --data-dir data; BENCHD_API_KEY=$(benchd key create --name me --scope operate --data-dir data --quiet)',
        )
        await shell.type("BENCHD_URL=$(grep -om1 'http://127[0-9.:]*' served); alias curl='curl --fail'; shopt -s expand_aliases")
      },
    },
    elsewhere: {
      'from benchd_bridge import Bridge': 'src/http/bridges.test.ts',
      'sudo mkdir -p /etc/benchd/bridges': systemd,
      'sudo cp benchd_bridge.py': systemd,
      'sudo nano': systemd,
      'sudo systemctl': systemd,
      'benchd devices initialize reader-1\n': systemd,
    },
  },
  'src/clients/README.md': {
    elsewhere: {
      'from benchd import Bench, Busy': 'src/clients/python/trouble.test.ts',
      'run.wait(until_held=True)': 'src/clients/python/trouble.test.ts',
    },
  },
  'src/fleet/README.md': {
    elsewhere: {
      'sudo apt install': systemd,
      'sudo -u postgres': systemd,
      'sudo cp /usr/share/benchd-lab': systemd,
      'sudo benchd lab check': systemd,
      'sudo systemctl': systemd,
      'sudo benchd key create --name me': systemd,
      'OPTIONS=': 'it is a line of a file',
      'benchd lab ': lab,
    },
  },
  'src/http/README.md': {
    async begin({ shell }) {
      await shell.type('benchd devices init shaker-1 --yes && benchd devices lock-plate shaker-1')
    },
  },
  'src/workflow/README.md': {
    before: {
      'npx benchd workflows put shake-and-seal.json': async ({ top, shell }) => {
        const [, document = ''] = /Save this as `shake-and-seal\.json`.*?^```json\n(.*?)^```/ms.exec(
          readFileSync(join(top, 'src/workflow/README.md'), 'utf8'),
        )!
        for (const name of ['shake-and-seal', 'seal']) writeFileSync(`${shell.folder}/${name}.json`, document)
      },
      'benchd topology load demo': async ({ shell }) => void (await shell.type('benchd topology unload')),
      'benchd runs show 7b1c': heldRun,
      'benchd runs recover plate RETRY': async ({ shell }) => {
        await shell.type('benchd sim mend sealer-1; benchd devices init sealer-1 --yes')
      },
      'benchd runs steps': async ({ shell, demo, swap }) => {
        await shell.type('benchd runs resume-thread plate; benchd runs resume held')
        const { steps } = await demo.until<{ steps: { step_id: string }[] }>('/api/operator/steps', ({ steps }) => steps.length > 0)
        swap('manual_step-0a1f', steps[0]!.step_id)
      },
    },
    elsewhere: { 'import { workflow }': 'src/workflow/readme.test.ts' },
  },
  'systemd/README.md': {
    async begin({ demo, shell, swap }) {
      // At the bench, as somebody who needs no key.
      await shell.type('unset BENCHD_URL; benchd init --device shaker-1=bioshake@simulated')
      swap('lab-pi-1.local', demo.url)
      swap('/media/stick', `${demo.home}/stick`)
      mkdirSync(`${demo.home}/stick`)
    },
    before: {
      'benchd key revoke ID': async ({ shell, swap }) => {
        const { text } = await shell.type('benchd key list --json')
        swap('benchd key revoke ID', `benchd key revoke ${/"key_id": *"(\w+)",\s*"name": *"laptop"/.exec(text)![1]} --yes`)
      },
      'benchd key pair': async ({ swap }) => swap('--name notebook --scope operate', '--name notebook --scope operate >pairing 2>&1 &'),
      'benchd key approve CODE': async ({ shell, swap }) => {
        await shell.type("until grep -q 'key approve' pairing; do :; done")
        swap('CODE', /key approve (\S+)/.exec(readFileSync(`${shell.folder}/pairing`, 'utf8'))![1]!)
      },
      'sudo benchd restore FILE --dry-run': async ({ demo, swap }) => {
        const [made = ''] = readdirSync(`${demo.home}/stick`)
        swap('restore FILE', `restore ${demo.home}/stick/${made} --yes`)
      },
      'sudo systemctl stop benchd &&': async ({ demo }) => {
        demo.service.child.kill('SIGTERM')
        await demo.service.ended
      },
    },
    elsewhere: {
      'sudo apt install': systemd,
      'sudo benchd init': systemd,
      'sudo usermod': systemd,
      'sudo benchd doctor': systemd,
      'benchd ports --identify': instrument,
      'sudo benchd devices add': instrument,
      'sudo benchd devices set': instrument,
      'sudo nano': 'it wants somebody who types',
      'benchd doctor --ask': instrument,
      'benchd logs -f': systemd,
      'sudo systemctl enable': systemd,
      'sudo systemctl disable': systemd,
      'sudo systemctl clean': systemd,
      journalctl: systemd,
      sha256sum: 'it wants the files of a release: scripts/package.long.test.ts',
      minisign: 'it wants the files of a release: src/cli/update.test.ts',
    },
  },
}

/** A run that stands at the sealer; then it seals once more, and waits for a person. */
async function heldRun({ shell, swap }: Stage): Promise<void> {
  const held = {
    format: 1,
    name: 'held',
    topology: 'demo',
    labware: { plate: { type: '96-well' } },
    methods: {
      first: [{ do: 'seal', on: 'sealer-1', with: { temperature: 160, duration: 1 } }],
      seal_it: [{ do: 'seal', on: 'sealer-1', with: { temperature: 160, duration: 1 } }],
      look: [{ instruct: 'look at the plate' }],
    },
    threads: {
      plate: {
        labware: 'plate',
        start: { at: 'pad_1', mode: 'REUSE_EXISTING' },
        end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
        steps: ['first', 'seal_it', 'look'].map((method) => ({ method })),
      },
    },
    start: ['plate'],
  }
  writeFileSync(`${shell.folder}/held.json`, JSON.stringify(held))
  await shell.type('benchd runs follow seal-and-spin; benchd sim fault sealer-1 jam; benchd workflows put ./held.json')
  const { text } = await shell.type('benchd runs submit held --follow')
  const { text: id } = await shell.type('benchd runs list --json | grep -o \'"execution_id": *"[^"]*\' | head -n 1 | grep -o \'[^"]*$\'')
  if (!/the run stands/.test(text)) throw new Error(text)
  swap('7b1c', id.trim().slice(0, 8))
}

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
const versions = 'it wants several versions: src/cli/versions.test.ts'
const lab = 'it wants a lab with its broker and its database: src/coordinator/lab_demo.test.ts'

/** By the path of the guide. A guide that is not here needs no scene, and each of its examples is typed. */
export const scenes: Record<string, Scene> = {
  'README.md': {
    elsewhere: {
      'npm install && npm start': 'scripts/first_commands.long.test.ts',
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
        writeFileSync(`${bridges}/reader.py`, program.replace('wait(10)', 'wait(0.01)'))
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
      'sudo cp -R drivers/my_pump': 'src/cli/drivers.test.ts',
      'sudo chown -R root:root /etc/benchd/drivers': systemd,
      'sudo benchd devices add pump-1 --driver my_pump': instrument,
      'python3 -m unittest': 'src/cli/bridge_examples.test.ts',
      'from benchd_bridge import Bridge': 'src/http/bridges.test.ts',
      'from benchd_bridge import DeviceFailed, Transporter': 'src/http/bridge_transporters.test.ts',
      '    jog_axes = ': 'it is a part of a class: src/http/bridges_by_hand.test.ts',
      'sudo mkdir -p /etc/benchd/bridges': systemd,
      'sudo cp benchd_bridge.py': systemd,
      'sudo nano': systemd,
      'sudo systemctl': systemd,
      'benchd devices initialize reader-1\n': systemd,
    },
  },
  'src/plugins/README.md': {
    elsewhere: { 'sudo npm install --ignore-scripts': 'it wants a package of the lab: src/plugins/plugins.test.ts' },
  },
  'src/cli/README.md': {
    async begin({ demo, swap }) {
      swap('benchd demo --time-scale 1', 'benchd demo --time-scale 1 --port 0 >other 2>&1 &')
      swap('devices init --all', 'devices init --all --yes')
      swap('/media/stick', `${demo.home}/stick`)
      swap('labware history P001', 'labware history plate')
      swap(' | man -l -', ' | head -n 1')
      swap('bioshake --pty', 'bioshake --pty >pty 2>&1 &')
      mkdirSync(`${demo.home}/stick`)
    },
    before: {
      'benchd devices end shaker-1': async ({ shell, demo }) => {
        await shell.type('benchd devices lock-plate shaker-1; benchd devices shake shaker-1 --speed 500 --duration 3600 >shaken 2>&1 &')
        await demo.until<{ state: string }>('/api/devices/shaker-1', ({ state }) => state === 'busy')
      },
      'benchd jog': async ({ shell }) => void (await shell.type('benchd devices initialize arm-1 --yes')),
      'benchd teachpoints restore': async ({ shell, swap }) => {
        const { text } = await shell.type('benchd teachpoints history arm-1 pad_1 --json')
        swap('3f9a02c1', /"version": *"(\w+)"/.exec(text)![1]!)
      },
      'benchd teachpoints import': async ({ shell }) => {
        await shell.type('benchd teachpoints export arm-1 all.csv')
        await shell.type('{ head -n 1 all.csv; grep pad_1, all.csv | sed s/pad_1/pad_9/; } >arm-1.csv')
      },
      'benchd runs submit': async ({ shell }) => void (await shell.type('benchd devices unlock shaker-1; benchd devices init --all --yes')),
      'benchd runs follow': async (stage) => newestRun(stage),
      'benchd runs attach': async (stage) => {
        await stage.shell.type('echo well,absorbance > absorbance.csv')
        await heldRun(stage)
      },
      'benchd workflows put': async ({ top, shell }) => tutorial(top, shell),
      'benchd incidents ack': async ({ shell, swap }) => {
        const { text } = await shell.type('benchd incidents list --json')
        swap('incidents ack 7b1c', `incidents ack ${/"incident_id": *"([\w-]+)"/.exec(text)![1]}`)
      },
      'benchd key rotate laptop': async ({ shell }) => void (await shell.type('benchd key create --name laptop --scope operate')),
      'benchd key revoke guest': async ({ swap }) => swap('revoke guest', 'revoke guest --yes'),
      ...pairing('K7M-2QX'),
      'benchd restore': async ({ demo, swap }) => swap('benchd-daily-20261120T020000Z.tar.gz', readdirSync(`${demo.home}/stick`)[0]!),
      'benchd config check ./config.json': async ({ shell }) => void (await shell.type('cp $BENCHD_CONFIG .')),
    },
    elsewhere: {
      'benchd devices perform reader-1': 'it wants a bridge: drivers/README.md is typed with one',
      'benchd devices certify shaker-1': 'it asks a person: src/cli/devices/certify.long.test.ts',
      'benchd drivers verify trial-shaker-1.json': 'it wants the record of a trial: src/cli/devices/certify.long.test.ts',
      'benchd plugins check /etc/benchd/plugins/lamp.ts': 'it wants a plug-in: src/cli/plugins.test.ts',
      'benchd queue move 7b1c --first': 'it wants an entry that waits: scripts/browser/queue_scenes.ts',
      'benchd queue start 7b1c': 'it wants an entry that waits: scripts/browser/queue_scenes.ts',
      'benchd topology diff demo 1 2': versions,
      'benchd topology restore demo 1': versions,
      'benchd workflows history just-shake': versions,
      'benchd workflows diff just-shake': versions,
      'benchd workflows restore just-shake': versions,
      'sudo benchd devices add': instrument,
      'sudo benchd devices set': instrument,
      'benchd inventory put incubator-1': 'it wants a storage: src/workflow/STORAGES.md is typed with one',
      'benchd runs simulate smc_assay': 'it wants the demo of the assay: src/examples/smc_assay.test.ts',
      'benchd runs recover 53a6': 'it wants a second shaker: src/http/retry_on.test.ts',
      'benchd runs fault': 'it wants a rehearsal that is under way: src/http/rehearsals.test.ts',
      'benchd free-drive': 'it ends when somebody presses Enter: src/devices/hold.test.ts',
      'benchd events tail': 'it ends at Ctrl-C: src/cli/events.test.ts',
      'benchd lab ': lab,
      'benchd audit verify': systemd,
      'benchd ports --identify': instrument,
      'benchd replay': 'it wants a wire log: src/cli/replay.test.ts',
      'benchd logs': systemd,
      'sudo benchd update': systemd,
      'sudo benchd doctor': systemd,
      'benchd config check && benchd config reload': systemd,
    },
  },
  'src/clients/README.md': {
    elsewhere: {
      'from datetime import datetime': 'src/clients/python/trouble.test.ts',
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
  'src/workflow/records/README.md': {
    async begin({ shell, swap }) {
      const { text } = await shell.type('benchd runs submit seal-and-spin --mode DEVICE_SIM --follow')
      const [id = ''] = /[0-9a-f-]{36}/.exec(text) ?? []
      swap('7b1c', id.slice(0, 8))
    },
    before: {
      'benchd runs values': async ({ shell }) => {
        await shell.type('echo well,absorbance > absorbance.csv; benchd runs attach seal-and-spin absorbance.csv; rm absorbance.csv')
      },
    },
  },
  'src/workflow/README.md': {
    before: {
      'npx benchd workflows put shake-and-seal.json': async ({ top, shell }) => tutorial(top, shell),
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
    elsewhere: {
      'import { workflow }': 'src/workflow/guide.test.ts',
      'benchd workflows history seal': versions,
      'benchd workflows diff seal': versions,
      'benchd workflows restore seal': versions,
      'benchd queue add seal-and-spin --samples': 'it wants a sheet: src/cli/runs/submission.test.ts',
    },
  },
  'src/workflow/STORAGES.md': {
    async begin({ shell }) {
      await shell.type(
        'benchd demo --bench incubator --time-scale 1000 --port 0 --data-dir stored >incubator 2>&1 & until grep -q BENCHD_API_KEY= incubator; do :; done',
      )
      await shell.type('eval "$(grep -om1 "export BENCHD_URL=.*" incubator)"; benchd devices init incubator-1')
    },
    elsewhere: { 'npx benchd demo --bench incubator': 'the scene of this guide begins with it' },
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
      ...pairing('CODE'),
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
      spin_it: [{ do: 'centrifuge', on: 'centrifuge-1', with: { g: 500, duration: 10 } }],
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
  if (!/the run stands/.test(text)) throw new Error(text)
  await newestRun({ shell, swap })
}

async function newestRun({ shell, swap }: Pick<Stage, 'shell' | 'swap'>): Promise<void> {
  const { text } = await shell.type('benchd runs list --json')
  swap('7b1c', /"execution_id": *"(\w+)/.exec(text)![1]!)
}

/** Saves the workflow of the tutorial under the names by which the guides call it. */
function tutorial(top: string, { folder }: Shell): void {
  const text = readFileSync(join(top, 'src/workflow/README.md'), 'utf8')
  const [, document = ''] = /Save this as `shake-and-seal\.json`.*?^```json\n(.*?)^```/ms.exec(text)!
  for (const name of ['shake-and-seal', 'seal']) writeFileSync(`${folder}/${name}.json`, document)
}

/** Asks for a key beside the shell, and approves it by its code, for which the guide prints `code`. */
function pairing(code: string): Scene['before'] {
  return {
    'benchd key pair': async ({ swap }) => swap('--name notebook --scope operate', '--name notebook --scope operate >pairing 2>&1 &'),
    'benchd key approve': async ({ shell, swap }) => {
      await shell.type("until grep -q 'key approve' pairing; do :; done")
      swap(code, /key approve (\S+)/.exec(readFileSync(`${shell.folder}/pairing`, 'utf8'))![1]!)
    },
  }
}

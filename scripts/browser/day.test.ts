// A whole day at the bench by the page alone: each command of the CLI stands beside the request that the page makes for it and the words that a scene
// presses in Chromium, or beside the reason why it is not for the page.

import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'tap'
import { table } from '../../src/cli/commands.ts'

/** The request, as the page's code names it, and what a scene presses or reads. */
type OnPage = readonly [request: string, pressed: string]

const form: OnPage = ['performOperation', "'shaker-1', 'Shake'"]

const onPage: Record<string, OnPage> = {
  ...{ status: ['live', 'data-link=live'], top: ['live', 'data-link=live'], 'devices list': ['device', "'shaker-1'"] },
  ...{ 'devices show': ['device', "'ready', { exact: true }"], 'devices caps': ['getDeviceCapabilities', 'speed (rpm)'] },
  ...{ 'devices wire': ['getDeviceWire', 'Last messages on the wire'], 'devices readings': ['getDeviceReadings', 'pressure 1013.25 mbar'] },
  'devices initialize': ['initializeDevice', "'Initialize'"],
  ...{ 'devices shake': form, 'devices centrifuge': form, 'devices seal': form, 'devices peel': form, 'devices open': form },
  ...{ 'devices close': form, 'devices lock-plate': form, 'devices unlock-plate': form, 'devices set-temperature': form },
  ...{ 'devices initialized': ['device', 'not initialized'], 'devices get-temperature': ['reading', '°C'] },
  ...{ jog: ['renewOperation', 'Jog x +'], 'free-drive': ['renewOperation', 'Free the arm'] },
  ...{ 'go-to': ['performOperation', 'Try it: pad_1'], 'teachpoints here': ['updateTeachpoint', 'Save here: pad_1'] },
  ...{ 'devices pose': ['getDevicePose', 'Use position of arm-1'], 'devices perform': ['performOperation', 'wavelength (nm)'] },
  ...{
    'devices accept': ['acceptDescription', 'Accept the new description of reader-1'],
    'devices end': ['endOperation', 'End early: Shake'],
  },
  ...{
    'devices stop': ['stopDevice', "'Stop'"],
    stop: ['stopAll', 'STOP ALL'],
    'devices clear-fault': ['clearDeviceFault', 'Clear fault'],
  },
  ...{ 'devices lock': ['leaseDevice', 'Reserve shaker-1'], 'devices unlock': ['releaseDevice', 'Release shaker-1'] },
  ...{ 'teachpoints list': ['listTeachpoints', "'pad_1'"], 'teachpoints get': ['listTeachpoints', 'Teachpoint pad_1'] },
  ...{ 'teachpoints set': ['updateTeachpoint', "'Save'"], 'teachpoints history': ['listTeachpointVersions', "'History'"] },
  ...{ 'teachpoints restore': ['restoreTeachpoint', 'Undo the last change'], 'teachpoints rm': ['deleteTeachpoint', 'Delete pad_day'] },
  ...{ 'teachpoints import': ['importTeachpoints', 'Import 1'], 'teachpoints export': ['exportTeachpoints', "'Export'"] },
  'teachpoints diff': ['listTeachpoints', '1 new, 0 changed'],
  ...{ 'runs submit': ['submit', 'Start run'], 'runs follow': ['getEvents', 'has completed'], 'runs simulate': ['simulate', 'Dry run'] },
  ...{ 'runs list': ['run', "name: 'seal-and-spin'"], 'runs show': ['thread', 'Run of seal-and-spin'] },
  ...{ 'runs why': ['listBlockers', 'is held by an error'], 'runs timeline': ['timeline', "'Timeline'"] },
  ...{ 'runs export': ['getReport', 'Download the report'], 'runs report': ['getReport', 'Download the report'] },
  ...{ 'runs pause': ['pauseExecution', 'Pause run'], 'runs resume': ['resumeExecution', 'Resume run'] },
  ...{ 'runs close': ['closeExecution', 'Close to submissions'], 'runs stop': ['stopExecution', 'Stop run'] },
  ...{ 'runs emit': ['emitCustomEvent', 'Emit event'], 'runs skip': ['skipStep', 'Skip this step'] },
  ...{ 'runs priority': ['prioritizeExecution', 'Set the priority'] },
  ...{ 'runs insert': ['insertStep', 'Insert method'], 'runs spawn': ['spawnThread', 'Add thread'] },
  ...{ 'runs recover': ['recoverThread', "'Retry'"], 'runs pause-thread': ['pauseThread', 'Pause plate'] },
  ...{ 'runs resume-thread': ['resumeThread', 'Resume plate'], 'runs stop-thread': ['stopThread', 'Stop plate'] },
  ...{
    'runs note': ['addNote', 'Add note'],
    'runs removed': ['labwareRemoved', "'Removed'"],
    'runs placed': ['labwarePlaced', "'Placed'"],
  },
  ...{ 'runs extend': ['extendLateCall', 'More time'], 'runs abort-call': ['abortLateCall', 'Abort call'] },
  ...{ 'runs complete-call': ['completeLateCall', 'Mark as done'], 'runs steps': ['confirmManualStep', 'Manual step'] },
  ...{ 'runs confirm': ['confirmManualStep', "'Done'"], 'runs delete': ['deleteExecution', 'Delete run'] },
  ...{ 'runs fault': ['setFaultOfRun', 'Simulate fault'], 'runs mend': ['clearFaultsOfRun', 'End fault'] },
  ...{ 'sim fault': ['setSimulatedFault', 'Simulate fault'], 'sim mend': ['clearSimulatedFaults', 'End fault'] },
  ...{ 'devices store': ['performOperation', 'Store from door'], 'devices retrieve': ['performOperation', 'Retrieve slot 7'] },
  ...{ 'devices scan': ['performOperation', "'Scan'"], 'devices weigh': ['performOperation', "'Weigh'"] },
  ...{ 'devices tare': form, 'devices zero': form, 'devices set-lid-temperature': form, 'devices run-profile': form },
  ...{ 'devices humidity': ['reading', 'humidity'], 'devices co2': ['reading', 'CO2'], 'devices weight': ['reading', 'weight'] },
  ...{ 'devices get-lid-temperature': ['reading', 'lid temperature'], 'devices barcode': ['device', 'Read (barcode'] },
  ...{ 'queue list': ['getQueue', 'Entries of the queue'], 'queue show': ['getQueue', 'It starts at'] },
  ...{ 'queue add': ['addToQueue', 'Add to the queue'], 'queue move': ['moveInQueue', 'Move number 2 up'] },
  ...{ 'queue remove': ['removeFromQueue', 'Remove number 1'], 'queue start': ['startQueueEntry', 'Start number 1 now'] },
  ...{ 'queue pause': ['pauseQueue', 'Pause the queue'], 'queue resume': ['resumeQueue', 'Resume the queue'] },
  'queue clear': ['clearQueue', 'Remove all'],
  ...{ 'inventory show': ['getInventory', '12 of 42 slots taken'], 'inventory put': ['correctInventory', 'Correct a slot'] },
  ...{ 'labware list': ['labware', 'plate, at pad_4'], 'labware put': ['relocateLabware', "'Save'"] },
  ...{ 'topology list': ['listTopologies', 'Load demo'], 'topology show': ['topology', "'Positions'"] },
  'labware history': ['getLabwareHistory', 'Moved plate from pad_1 to shaker_in'],
  ...{ 'topology load': ['loadTopology', 'Load demo'], 'topology unload': ['unloadTopology', 'Unload topology'] },
  ...{ 'workflows list': ['listWorkflows', "'Workflow'"], 'workflows show': ['getWorkflow', 'Download of-the-day'] },
  ...{
    'workflows history': ['listWorkflowVersions', 'Versions of versioned'],
    'workflows diff': ['compareWorkflowVersions', 'What changed in version 2'],
  },
  ...{
    'workflows restore': ['restoreWorkflowVersion', 'Restore version 1'],
    'topology history': ['listTopologyVersions', 'Versions of demo'],
  },
  ...{ 'topology diff': ['compareTopologyVersions', 'What changed in version 2'] },
  ...{ 'workflows put': ['putWorkflow', 'Upload a file'], 'workflows delete': ['deleteWorkflow', 'Delete of-the-day'] },
  ...{ 'events tail': ['getEvents', "'Events'"], 'events since': ['getEvents', 'last hour'] },
  'events export': ['getEvents', 'Export the events of this time'],
  ...{ 'incidents list': ['incident', "'Needs you'"], 'incidents show': ['incident', 'started with --safe'] },
  ...{ 'incidents ack': ['acknowledgeIncident', 'Acknowledge'], 'lab status': ['getLab', 'Benches of the lab'] },
  ...{ 'key create': ['createKey', 'Create key'], 'key list': ['listKeys', "'Keys'"], 'key rotate': ['rotateKey', 'Rotate of the day'] },
  ...{ 'key revoke': ['revokeKey', 'Revoke of the day'], 'key pair': ['/api/keys/requests', 'Request access'] },
  ...{
    'key requests': ['approveKeyRequest', 'Approve'],
    'key approve': ['approveKeyRequest', 'Approve'],
    whoami: ['whoAmI', 'Forget the key'],
  },
  ...{ 'audit tail': ['getAudit', 'Refresh who did what'], ports: ['listPorts', 'Identify'], doctor: ['examineSystem', 'Run the doctor'] },
  ...{ backup: ['createBackup', 'Create a backup'], 'backup list': ['listBackups', 'Create a backup'] },
  ...{ bundle: ['fetchBundle', 'Download a support bundle'], 'notify list': ['listNotifyReceivers', 'has received no message yet'] },
  ...{ 'notify test': ['testNotify', 'Send a test message'], 'config show': ['getConfig', 'The configuration in force'] },
  ...{ 'plugins list': ['listPlugins', 'in a process of its own'], 'plugins restart': ['restartPlugin', 'Restart the plug-in'] },
  ...{ 'config reload': ['reloadSystem', 'Reload the configuration'], version: ['getSystem', '^benchd 0'] },
}

const setUp = 'it sets a bench or a lab up, which is done once, at its computer, with the rights of an administrator'
const atShell = 'it is for the shell itself'
const files = 'it reads the files of the computer without the service, so that nobody has to believe the service'

const ofFiles = 'a file comes from the computer or the program that made it, which has the shell or a client'
const inReport = 'the report, which the page has, shows the values and draws the temperatures; as tables they are for programs'
const search = 'it finds what was done on other days; the page shows what is going on, and the timeline of each run'

const ofLab = 'it speaks to the coordinator of the lab, not to this bench'

const notForThePage: Record<string, string> = {
  ...{ init: setUp, 'devices add': setUp, 'devices set': setUp, 'devices remove': setUp, 'config check': setUp, 'config set': setUp },
  ...{ 'lab init': setUp, 'lab setup': setUp, 'lab new-epoch': setUp, update: setUp, restore: setUp },
  ...{
    serve: atShell,
    demo: atShell,
    'lab demo': atShell,
    sim: atShell,
    replay: atShell,
    'bridge new': atShell,
    'bridge try': atShell,
    'plugins check': atShell,
    'workflows variables': atShell,
    'workflows samples': atShell,
    mcp: atShell,
    'drivers list': atShell,
    'drivers new': atShell,
    'drivers test': atShell,
    'drivers verify': atShell,
    'devices certify': atShell,
    completion: atShell,
    man: atShell,
    discover: atShell,
  },
  'devices operations': search,
  ...{ 'events verify': files, 'audit verify': files, 'runs verify': files, 'lab events': files, logs: files },
  ...{ 'lab serve': atShell, 'lab check': ofLab, 'lab start': ofLab, 'lab journeys': ofLab, 'lab journey': ofLab, 'lab why': ofLab },
  ...{ 'lab decide': ofLab, 'lab simulate': ofLab, 'lab tasks': ofLab, 'lab confirm': ofLab, 'lab custody': ofLab, 'lab stop': ofLab },
  ...{ 'runs attach': ofFiles, 'runs files': ofFiles, 'runs download': ofFiles },
  ...{ 'runs values': inReport, 'runs readings': inReport },
  'topology restore': 'a topology is a file of the computer, which its answer names',
  'runs workflow': 'the page shows the version of each run, and downloads that version at its workflow',
  'safe-off': 'it is called when no service runs; the page has STOP ALL',
}

const top = new URL('../../../', import.meta.url)

/** The sources in a folder, the tests left out. */
function sourcesIn(folder: string): string {
  const paths = readdirSync(new URL(folder, top), { recursive: true, encoding: 'utf8' })
  const sources = paths.filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
  return sources.map((path) => readFileSync(new URL(`${folder}/${path}`, top), 'utf8')).join('\n')
}

test('everything that the CLI can do during a day can be done on the page, and a scene shows it', async (t) => {
  const commands = (await table()).flatMap((section) => section.commands.map(({ name }) => name))
  t.same(
    commands.filter((name) => !(name in onPage) && !(name in notForThePage)),
    [],
    'commands that stand nowhere',
  )
  t.same(
    [...Object.keys(onPage), ...Object.keys(notForThePage)].filter((name) => !commands.includes(name)),
    [],
    'what is no command any more',
  )
  const [page, scenes] = [sourcesIn('src/web'), sourcesIn('scripts/browser')]
  const asks = ([request]: OnPage) =>
    page.includes(`'${request}'`) || page.includes(`state.value.${request}`) || page.includes(`.${request}(`)
  for (const [name, its] of Object.entries(onPage)) {
    t.ok(asks(its), `${name}: the page asks for ${its[0]}`)
    t.ok(scenes.includes(its[1]), `${name}: a scene has “${its[1]}”`)
  }
})

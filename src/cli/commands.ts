// The table of commands: parsing, help and dispatch all come from it.

import { packageVersion } from '../kit/package_version.ts'
import { auditTail, auditVerify } from './audit.ts'
import { type Command, command } from './command.ts'
import { eventsExport, eventsSince, eventsTail, eventsVerify } from './events.ts'
import { keyCreate, keyList, keyRevoke, keyRotate, whoami } from './key.ts'
import { labwareList, labwarePut } from './labware.ts'
import { keyApprove, keyPair, keyRequests } from './pairing.ts'
import { configPath } from './places.ts'
import { ports } from './ports.ts'
import { replay } from './replay.ts'
import {
  runsAbortCall,
  runsClose,
  runsCompleteCall,
  runsConfirm,
  runsDelete,
  runsEmit,
  runsExtend,
  runsInsert,
  runsList,
  runsPause,
  runsRecover,
  runsResume,
  runsShow,
  runsSkip,
  runsSpawn,
  runsStop,
  runsSubmit,
  runsTimeline,
  runsWhy,
} from './runs.ts'
import { safeOff } from './safe_off.ts'
import { demo, serve } from './serve.ts'
import { sim } from './sim.ts'
import { runsSimulate } from './simulate.ts'
import { topologyList, topologyLoad, topologyShow, topologyUnload } from './topology.ts'
import { workflowsDelete, workflowsList, workflowsPut, workflowsShow } from './workflows.ts'

const configCheck = command({
  name: 'config check',
  summary: 'Check a configuration, and say what is wrong with it',
  operands: ['[FILE]'],
  options: { config: { type: 'string', value: 'FILE', help: 'The same as FILE' } },
  example: 'benchd config check ./config.json',
  async run({ options, operands: [file] }) {
    const { readConfig, readTls } = await import('../config.ts')
    const path = configPath(file ?? options.config)
    const { devices, listen } = await readConfig(path)
    const certificate = listen.tls && (await readTls(listen.tls))
    process.stdout.write(`${path} is good: ${devices.length} devices\n`)
    if (certificate) process.stdout.write(`TLS certificate until ${certificate.valid_to}, SHA-256 ${certificate.fingerprint}\n`)
    return 0
  },
})

const version = command({
  name: 'version',
  summary: 'Print the version',
  operands: [],
  options: {},
  async run() {
    process.stdout.write(`${packageVersion()}\n`)
    return 0
  },
})

export const commands: readonly Command[] = [
  serve,
  demo,
  runsSubmit,
  runsSimulate,
  runsList,
  runsShow,
  runsTimeline,
  runsWhy,
  runsPause,
  runsResume,
  runsStop,
  runsClose,
  runsEmit,
  runsRecover,
  runsSkip,
  runsInsert,
  runsSpawn,
  runsExtend,
  runsAbortCall,
  runsCompleteCall,
  runsConfirm,
  runsDelete,
  labwareList,
  labwarePut,
  topologyList,
  topologyShow,
  topologyLoad,
  topologyUnload,
  workflowsList,
  workflowsShow,
  workflowsPut,
  workflowsDelete,
  eventsTail,
  eventsSince,
  eventsExport,
  eventsVerify,
  keyCreate,
  keyList,
  keyRotate,
  keyRevoke,
  keyPair,
  keyRequests,
  keyApprove,
  whoami,
  auditTail,
  auditVerify,
  ports,
  sim,
  replay,
  safeOff,
  configCheck,
  version,
]

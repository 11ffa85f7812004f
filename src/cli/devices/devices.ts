// `benchd devices …`: the devices of the bench and their operations.

import { certify } from './certify.ts'
import { configured } from './configured.ts'
import { devicesEnd } from './end.ts'
import { keeping } from './keeping.ts'
import { operationCommands, stopDevice } from './operations.ts'
import { acceptDescription, performAny } from './perform_any.ts'
import { shown } from './shown.ts'

export const commands = [
  ...shown,
  ...operationCommands,
  performAny,
  acceptDescription,
  devicesEnd,
  stopDevice,
  ...keeping,
  ...configured,
  certify,
]

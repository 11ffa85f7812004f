// `benchd devices …`: what is plugged in, and what it is to do.

import { configured } from './configured.ts'
import { keeping } from './keeping.ts'
import { operationCommands, stopDevice } from './operations.ts'
import { shown } from './shown.ts'

export const commands = [...shown, ...operationCommands, stopDevice, ...keeping, ...configured]

// `benchd runs …`: workflows that are submitted, what they do, and what an operator tells them.

import { faults } from './faults.ts'
import { shown } from './shown.ts'
import { runsSimulate } from './simulate.ts'
import { runsSubmit } from './submit.ts'
import { told } from './told.ts'

export const commands = [runsSubmit, runsSimulate, ...shown, ...told, ...faults]

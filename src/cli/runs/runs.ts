// `benchd runs …`: workflows that are submitted, what they do, and the requests of an operator.

import { faults } from './faults.ts'
import { shown } from './shown.ts'
import { runsSimulate } from './simulate.ts'
import { runsFollow, runsSubmit } from './submit.ts'
import { runVerbs } from './verbs.ts'

export const commands = [runsSubmit, runsFollow, runsSimulate, ...shown, ...runVerbs, ...faults]

// `benchd runs …`: submitting, showing and controlling runs.

import { exports } from './export.ts'
import { faults } from './faults.ts'
import { files } from './files.ts'
import { record } from './record.ts'
import { shown } from './shown.ts'
import { runsSimulate } from './simulate.ts'
import { runsFollow, runsSubmit } from './submit.ts'
import { runVerbs } from './verbs.ts'

export const commands = [runsSubmit, runsFollow, runsSimulate, ...shown, ...files, ...record, ...exports, ...runVerbs, ...faults]

// `benchd runs submit` and `runs follow`: starts a run, and follows it until it ends or needs a person.

import type { LabwareInTheWay } from '../../workflow/runs/in_the_way.ts'
import { atShell } from '../at_shell.ts'
import { ask, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { print } from '../table.ts'
import { note } from '../terminal.ts'
import { follow } from './follow.ts'
import { shownRunIdOf } from './ids.ts'
import { type Level, levelOption } from './run_log.ts'
import { requestOf, requestOptions, submissionOptions } from './submission.ts'

export const runsSubmit = command({
  name: 'runs submit',
  summary: 'Start a workflow and print the id of its run',
  operands: ['WORKFLOW'],
  options: {
    ...submissionOptions,
    ...requestOptions,
    follow: { type: 'boolean', help: 'Follow the run as runs follow does, with its exit code' },
    ...levelOption,
    ...serviceOptions,
  },
  example: 'benchd runs submit seal-and-spin --var speed=600 --follow',
  async run({ options, operands: [workflow = ''] }) {
    const service = serviceOf(options)
    const submission = await ask<{ submission_id: string; execution_id: string; in_the_way: LabwareInTheWay[] }>(
      service,
      'POST',
      '/api/submissions',
      await requestOf(service, workflow, options),
    )
    print(options.json ? JSON.stringify(submission) : submission.execution_id)
    if (!options.json) for (const { message } of submission.in_the_way) note(atShell(message))
    return options.follow ? follow(service, submission.execution_id, levelOf(options)) : 0
  },
})

export const runsFollow = command({
  name: 'runs follow',
  summary:
    'Print what happens in a run from its start until it ends or cannot go on by itself; exit with 0 if it is COMPLETED, 6 if it needs a person',
  operands: ['ID'],
  options: { ...levelOption, ...serviceOptions },
  example: 'benchd runs follow 7b1c',
  async run({ options, operands: [id = ''] }) {
    const service = serviceOf(options)
    return follow(service, await shownRunIdOf(service, id), levelOf(options))
  },
})

function levelOf({ json, all }: { json?: boolean; all?: boolean }): Level {
  return json ? 'json' : all ? 'all' : 'operator'
}

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
import { submissionOf, submissionOptions } from './submission.ts'

export const runsSubmit = command({
  name: 'runs submit',
  summary: 'Start a workflow and print the id of its run',
  operands: ['WORKFLOW'],
  options: {
    ...submissionOptions,
    join: { type: 'boolean', help: 'Add the groups to the open run of this workflow, if there is one' },
    'submission-id': { type: 'string', value: 'UUID', help: 'Id of your own; a repeated id names the same run' },
    project: { type: 'string', value: 'NAME', help: 'The project of the run, for its record' },
    tag: { type: 'string', multiple: true, value: 'TAG', help: 'Word by which the run is found; repeatable' },
    note: { type: 'string', value: 'TEXT', help: 'Note for the record of the run' },
    operator: { type: 'string', value: 'WHO', help: 'Name of the operator' },
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
      {
        ...(await submissionOf(service, workflow, options)),
        batch_mode: options.join ? 'JOIN_EXISTING' : 'STANDALONE',
        ...(options['submission-id'] && { submission_id: options['submission-id'] }),
        ...(options.project && { project: options.project }),
        ...(options.tag && { tags: options.tag }),
        ...(options.note && { notes: options.note }),
        ...(options.operator && { operator_id: options.operator }),
      },
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

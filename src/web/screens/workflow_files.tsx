// Download, upload and versions of workflows.

import { useSignal } from '@preact/signals'
import type { PutWorkflowResponse } from '../../clients/ts/benchd.ts'
import { Act, UploadFile } from '../parts.tsx'
import { ask, bench, keepFile } from '../store.tsx'

type FilesProps = { workflow: PutWorkflowResponse | undefined; onChanged: () => unknown }

/** Uploads, downloads and deletes workflows. A workflow from a folder of the bench can only be changed there. */
export function WorkflowFiles({ workflow, onChanged }: FilesProps) {
  const trouble = useSignal('')
  const put = async (file: File) => {
    trouble.value = ''
    try {
      const document = JSON.parse(await file.text()) as { name?: unknown }
      if (typeof document?.name !== 'string') throw new Error('it has no name')
      if (await ask('putWorkflow', { path: { workflow_name: document.name }, body: document as never }, { quiet: true })) await onChanged()
    } catch (error) {
      trouble.value = `${file.name} is not a workflow: ${error instanceof Error ? error.message : error}`
    }
  }
  const fetch = async ({ name }: PutWorkflowResponse) => {
    const found = await bench.value?.call('getWorkflow', { path: { workflow_name: name } }).catch(() => undefined)
    if (found) keepFile(`${name}.json`, new Blob([JSON.stringify(found.document, null, 2)], { type: 'application/json' }))
  }
  const remove = async ({ name }: PutWorkflowResponse) => {
    if (await ask('deleteWorkflow', { path: { workflow_name: name } })) await onChanged()
  }
  return (
    <div class="row">
      <UploadFile label="Upload" name="Upload a file" onFile={put} />
      {workflow && <Act label="Download" name={`Download ${workflow.name}`} kind="quiet" free onPress={() => fetch(workflow)} />}
      {workflow && (
        <a class="button quiet" aria-label={`Versions of ${workflow.name}`} href={`#/workflows/${workflow.name}`}>
          Versions
        </a>
      )}
      {workflow?.source === 'api' && (
        <Act label="Delete" name={`Delete ${workflow.name}`} twice="Delete: press again" kind="quiet" onPress={() => remove(workflow)} />
      )}
      {trouble.value && (
        <p class="trouble long" role="alert">
          {trouble.value}
        </p>
      )}
    </div>
  )
}

// The versions of a workflow or topology: who changed it when, what differs, and an earlier one put again.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { CompareWorkflowVersionsResponse, ListWorkflowVersionsResponse } from '../../clients/ts/benchd.ts'
import { Act, Empty, useAnswer } from '../parts.tsx'
import { ask, keepFile } from '../store.tsx'
import { Author, Time } from '../time.tsx'

type Noun = 'workflow' | 'topology'
type Version = ListWorkflowVersionsResponse['versions'][number]
type Compared = CompareWorkflowVersionsResponse

const calls = {
  workflow: { list: 'listWorkflowVersions', get: 'getWorkflowVersion', compare: 'compareWorkflowVersions', param: 'workflow_name' },
  topology: { list: 'listTopologyVersions', get: 'getTopologyVersion', compare: 'compareTopologyVersions', param: 'topology_name' },
} as const

type VersionsProps = { of: Noun; name: string }

export function VersionsScreen({ of, name }: VersionsProps) {
  return (
    <section aria-label={`Versions of ${name}`}>
      <h2>Versions of {name}</h2>
      <List of={of} name={name} />
    </section>
  )
}

function List({ of, name }: VersionsProps) {
  // Counts what was put again, so that the list is read anew.
  const restored = useSignal(0)
  const path = { [calls[of].param]: name } as never
  const { versions } = useAnswer(calls[of].list, { path }, [name, restored.value]).value ?? {}
  if (!versions) return <Empty>Loading the versions …</Empty>
  if (versions.length === 0)
    return <Empty>This {of} comes with the program. Its versions are kept once it has run on the bench or on simulators.</Empty>
  const restore = async (version: number) => {
    if (!(await ask('restoreWorkflowVersion', { path: { workflow_name: name, version: String(version) }, body: {} }))) return
    restored.value++
  }
  return (
    <ol class="versions" aria-label="Versions, the newest first">
      {versions.map((version, i) => (
        <li key={version.version}>
          <Line of={of} name={name} version={version} before={versions[i + 1]?.version}>
            {of === 'workflow' && version.form === 'json' && version.source === 'api' && (i > 0 || version.deleted) && (
              <Act
                label="Restore"
                name={`Restore version ${version.version}`}
                twice={`Put version ${version.version} again: press once more`}
                onPress={() => restore(version.version)}
              />
            )}
          </Line>
        </li>
      ))}
    </ol>
  )
}

type LineProps = { of: Noun; name: string; version: Version; before: number | undefined; children: ComponentChildren }

function Line({ of, name, version, before, children }: LineProps) {
  const found = useSignal<Compared | undefined>(undefined)
  const path = { [calls[of].param]: name }
  const compare = async () => {
    found.value = await ask(calls[of].compare, { path, query: { from: String(before), to: String(version.version) } })
  }
  const fetch = async () => {
    const whole = await ask(calls[of].get, { path: { ...path, version: String(version.version) } })
    if (!whole) return
    const [ending, text] = whole.text === null ? ['json', JSON.stringify(whole.document, null, 2)] : ['ts', whole.text]
    keepFile(`${name}-${version.version}.${ending}`, new Blob([text]))
  }
  return (
    <>
      <p class="long">
        <strong>Version {version.version}</strong>, <Time at={version.at} />, <Who version={version} />
        {version.note && `: ${version.note}`}
        {version.deleted && (
          <>
            . Deleted <Time at={version.deleted.at} /> by <Author by={version.deleted.by} operator={version.deleted.operator} />
          </>
        )}
      </p>
      {found.value && <Difference compared={found.value} />}
      <span class="row">
        {before !== undefined && !found.value && (
          <Act label="What changed" name={`What changed in version ${version.version}`} kind="quiet" free onPress={compare} />
        )}
        <Act label="Download" name={`Download version ${version.version}`} kind="quiet" free onPress={fetch} />
        {children}
      </span>
    </>
  )
}

function Who({ version: { source, by, operator, file } }: { version: Version }) {
  if (source === 'file') return <>from the file {file}</>
  if (source === 'example') return <>with the program</>
  return by === null ? <>by somebody unknown</> : <Author by={by} operator={operator} />
}

function Difference({ compared: { is_same, changes, text_changes } }: { compared: Compared }) {
  if (is_same) return <p class="hint">It means the same as the version before.</p>
  return (
    <ul class="changes">
      {changes.map(({ text }) => (
        <li key={text} class="long">
          {text}
        </li>
      ))}
      {text_changes.length > 0 && (
        <li>
          <pre>{text_changes.join('\n')}</pre>
        </li>
      )}
    </ul>
  )
}

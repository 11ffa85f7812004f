// The head of a report: what was run, when, by whom, with which result.

import { authorText } from '../../../kit/author.ts'
import { modeText } from '../../state/modes.ts'
import { foretoldStory } from '../foretold_story.ts'
import { planStory } from '../plan_story.ts'
import { membersOf, textOr, wordsOf } from './facts.ts'
import { type Cell, html, type Markup, shortened, tableOf } from './markup.ts'
import { labwareOf } from './tables.ts'
import { spanWords } from './time.ts'
import type { Told } from './told.ts'

type Row = Readonly<Record<string, unknown>>

export function header(told: Told): Markup {
  return html`${result(told)}${factList(told)}${submissionTable(told)}`
}

function result({ execution, facts, from, until }: Told): Markup {
  const { status, reason, run_mode, ended_at } = execution
  const { incidents, decisions, others } = facts.counts
  const counts = [
    counted(labwareOf([...facts.plates.values()]).length, 'labware', 'labware'),
    counted(facts.steps, 'step'),
    counted(facts.values, 'value'),
    counted(incidents + others, 'deviation'),
    counted(decisions, 'decision by a person', 'decisions by people'),
  ]
  const how = ended_at === null ? 'is still open; this report ends with the last row of its record' : `ended ${status}`
  const simulated = run_mode === 'LIVE' ? '' : ` This was a simulation (${modeText(run_mode)}): no instrument moved.`
  const damaged =
    facts.damaged > 0 &&
    html`<p class="result"><strong>The record is not whole.</strong> Damaged lines: ${facts.damaged}. What they said is missing here.</p>`
  return html`<p class="result"><strong>The run ${how}</strong>${reason && ` (${reason})`}, after ${spanWords(until - from)}: ${counts.join(', ')}.${simulated}</p>${damaged || null}
`
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

function factList(told: Told): Markup {
  const { execution, facts, time, from, until, version, made_at, foretold_s } = told
  const isOver = execution.ended_at !== null
  const of = (name: string) => [...new Set(facts.submissions.flatMap((row) => textOr(row[name]) ?? []))].join(', ')
  const tags = [...new Set(facts.submissions.flatMap(({ tags }) => (Array.isArray(tags) ? tags.map(wordsOf) : [])))].join(', ')
  const rows: [string, string][] = [
    ['Workflow', `${execution.workflow_name} (${versionText(execution)}SHA-256 ${execution.workflow_hash})`],
    ['Topology', `${execution.topology}${execution.topology_version === undefined ? '' : ` (version ${execution.topology_version})`}`],
    ['Run', execution.execution_id],
    ['Mode', modeText(execution.run_mode)],
    ['Began', time.words(execution.started_at)],
    ['Ended', execution.ended_at === null ? 'not yet' : time.words(execution.ended_at)],
    ['Plan', planStory(facts.plans, { foretold_s, took_s: until - execution.started_at, isOver })],
    ['Forecast', foretoldStory(facts.forecasts, { started_at: execution.started_at, ended_at: execution.ended_at })],
    ['Time zone', time.name(from, until)],
    ['Submitted by', [...new Set(facts.submissions.map(({ by, operator }) => authorText(by, operator)))].filter(Boolean).join('; ')],
    ['Operator', of('operator_id')],
    ['Project', of('project')],
    ['Tags', tags],
    ['Notes', of('notes')],
    ['benchd', of('benchd') || 'the version was not recorded'],
    ['Report', `made ${time.words(made_at)} by benchd ${version} from ${facts.rows} rows of the record`],
  ]
  return html`<dl class="facts">${rows.filter(([, words]) => words !== '').map(([name, words]) => html`<dt>${name}</dt><dd>${words}</dd>`)}</dl>
`
}

function versionText({ workflow_version }: Told['execution']): string {
  return workflow_version === undefined ? '' : `version ${workflow_version}, `
}

const columns = ['When', 'By', 'Operator', 'Mode', 'Groups', 'Variables']

function submissionTable({ facts, time }: Told): Markup {
  if (facts.submissions.length === 0) return html`<p>The record has no submission.</p>`
  return html`${tableOf(
    'Submissions',
    columns,
    facts.submissions.map((row) => submissionRow(row, (at) => time.words(at))),
  )}${sampleTable(facts.submissions)}`
}

/** The most groups whose variables are listed. */
const mostSamples = 1000

/** The variables that differ by group; nothing where no group has any. */
function sampleTable(submissions: readonly Row[]): Markup {
  const groups = submissions.flatMap(({ groups }) => (Array.isArray(groups) ? groups.map(membersOf) : []))
  const rows = groups.flatMap(({ group_id, variables }) =>
    Object.keys(membersOf(variables)).length > 0 ? [[wordsOf(group_id), shortened(valueWords(variables), 1000)]] : [],
  )
  if (rows.length === 0) return html``
  const left = rows.length > mostSamples ? html`<p>Only the first ${mostSamples} groups are listed here.</p>` : html``
  return html`${tableOf('Variables of the groups', ['Group', 'Variables'], rows.slice(0, mostSamples))}${left}`
}

function valueWords(variables: unknown): string {
  return Object.entries(membersOf(variables))
    .map(([name, value]) => `${name} = ${shortened(wordsOf(value), 80)}`)
    .join(', ')
}

function submissionRow({ at, by, operator, operator_id, run_mode, groups, variables }: Row, words: (at: number) => string): Cell[] {
  const names = Array.isArray(groups) ? groups.map((group) => wordsOf(membersOf(group).group_id)) : []
  const who = [authorText(by, operator), wordsOf(operator_id)].map((one) => one || '–')
  return [words(Number(at)), ...who, modeText(wordsOf(run_mode)), shortened(names.join(', '), 600), shortened(valueWords(variables), 1000)]
}

// The JSON Schemas of topologies and workflows, for editors to complete and check.

import { anyOf, type JsonSchema, jsonSchema, jsonSchemas } from '../src/kit/json_schema.ts'
import { JsonAction } from '../src/workflow/plans/action_schema.ts'
import { Condition } from '../src/workflow/plans/conditions.ts'
import { JsonMethod, JsonStep, JsonWorkflow } from '../src/workflow/plans/documents.ts'
import { TopologyDocument } from '../src/workflow/plans/topology_schema.ts'

const $schema = 'https://json-schema.org/draft/2020-12/schema'

export function topologySchema(): JsonSchema {
  return { $schema, title: 'Topology of benchd', ...jsonSchema(TopologyDocument) }
}

export function workflowSchema(): JsonSchema {
  const named = { Step: anyOf(JsonStep), Condition: anyOf(Condition), Action: anyOf(JsonAction), Method: anyOf(JsonMethod) }
  return { $schema, title: 'Workflow of benchd', ...jsonSchema(JsonWorkflow, { named }), $defs: jsonSchemas(named) }
}

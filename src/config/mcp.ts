// The settings of the MCP server at `/mcp`.

import * as v from 'valibot'
import { described } from '../kit/described.ts'

export const McpConfig = v.strictObject({
  allow_motion: v.optional(
    described(
      v.boolean(),
      'Offers operations, runs and decisions to keys of scope operate too; a person confirms each call. Without it nothing moves over MCP',
    ),
    false,
  ),
})
export type McpConfig = v.InferOutput<typeof McpConfig>

// The scopes of keys, and of whatever else calls the bench.

import * as v from 'valibot'

/** Each scope includes those before it. */
export const scopes = ['read', 'operate', 'admin'] as const
export const Scope = v.picklist(scopes)
export type Scope = v.InferOutput<typeof Scope>

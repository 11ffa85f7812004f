// Schemas that the documents of topologies and workflows share.

import * as v from 'valibot'
import { Whole } from '../../kit/described.ts'

export const Seconds = v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1e7), v.metadata({ unit: 's' }))
export const Count = Whole(1, 100_000)

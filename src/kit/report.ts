// The report of a damaged file to the operator.

/** A problem that becomes a line of the log and an incident. */
export type Trouble = { kind: 'storage'; message: string }
export type Report = (trouble: Trouble) => void

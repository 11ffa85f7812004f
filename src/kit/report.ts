// How a damaged file is reported to the operator.

/** A trouble that the operator has to know of: it becomes a line of the log and an incident. */
export type Trouble = { kind: 'storage'; message: string }
export type Report = (trouble: Trouble) => void

// The author of a change, for records that people read.

/**
 * `by` is the name of the caller's key; null for the service. `operator` is the name that the person gave with the request. Nobody has checked that name,
 * so it is shown as "said to be" and decides nothing.
 */
export type Author = { by: string | null; operator?: string | undefined }

export const nobody: Author = { by: null }

/** Words an author as `tablet, said to be Ann`; empty where nobody is known. */
export function authorText(by: unknown, operator: unknown): string {
  const key = typeof by === 'string' ? by : ''
  return typeof operator === 'string' && operator !== '' ? `${key}${key && ', '}said to be ${operator}` : key
}

// A plan that a bench follows, as its runs tell of it.

/** `reason`: why it was made. When all labware is to be done, and when it could be done at the earliest, in seconds from then. `states`: the effort of the search. */
export type MadePlan = { readonly reason: string; readonly makespan_s: number; readonly bound_s: number; readonly states: number }

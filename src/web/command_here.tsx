// The form of commands on the computer of the bench, which the service writes into the page.

/** `benchd`, or `npx benchd` in a clone. */
export const benchd = document.querySelector<HTMLMetaElement>('meta[name="benchd-command"]')?.content ?? 'benchd'

/** The command that configures a new bench; an installed benchd has a configuration that belongs to root. */
export const init = benchd === 'benchd' ? 'sudo benchd init' : `${benchd} init`

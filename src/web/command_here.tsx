// How commands are typed at the computer of the bench: the service writes it into the page.

/** `benchd`, or `npx benchd` in a clone. */
export const benchd = document.querySelector<HTMLMetaElement>('meta[name="benchd-command"]')?.content ?? 'benchd'

/** The command that configures a new bench: where benchd is installed, its configuration belongs to root. */
export const init = benchd === 'benchd' ? 'sudo benchd init' : `${benchd} init`

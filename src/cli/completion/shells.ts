/** The shells for which there is a script, `benchd.SHELL` in this folder. */
export const shells: readonly string[] = ['bash', 'zsh', 'fish']

// Keeps commands that run in the process of a test away from the configuration of an installed benchd. Imported before every command, because the
// folder is looked up only once.

process.env.CONFIGURATION_DIRECTORY = new URL('./no-configuration', import.meta.url).pathname

// Keeps commands in the process of a test away from the configuration of a benchd that is installed on this computer. Imported ahead of
// every command: the folder is looked up once.

process.env.CONFIGURATION_DIRECTORY = new URL('./no-configuration', import.meta.url).pathname

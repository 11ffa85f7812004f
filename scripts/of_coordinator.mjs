/** The npm packages that only the coordinator of a lab needs. They are not in the bundle: the package benchd-lab has them. */
export const ofCoordinator = ['@dbos-inc/dbos-sdk', 'pg']

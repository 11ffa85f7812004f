// All routes, for the generator and the tests.

import type { Route } from './contract.ts'
import { runRoutes } from './run_routes.ts'
import { serviceRoutes } from './service_routes.ts'

export const routes: readonly Route[] = [...serviceRoutes, ...runRoutes]

import type { OwnRoute } from '../http/types.ts'
import { pageRoutes } from './pages.ts'
import { type SessionDeps, sessionRoutes } from './session.ts'

/** All of `/console/` but `/console/api/`, which leads to the operations. */
export const consoleRoutes = (deps: SessionDeps): readonly OwnRoute[] => [
  ...pageRoutes(),
  ...sessionRoutes(deps),
]

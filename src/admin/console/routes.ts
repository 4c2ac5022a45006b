import type { OwnRoute } from '../http/types.ts'
import { pageRoutes } from './pages.ts'

/** All of `/console/`. */
export const consoleRoutes = (): readonly OwnRoute[] => [...pageRoutes()]

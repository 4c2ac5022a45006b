import type { OwnRoute } from '../http/types.ts'

/** All of `/console/`. */
export const consoleRoutes = (): readonly OwnRoute[] => []

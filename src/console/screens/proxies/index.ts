import type { Screen } from '../../kit/screen.ts'
import { listScreen } from './list.ts'
import { newScreen } from './new.ts'
import { proxyScreen } from './proxy.ts'

export const proxiesScreens: readonly Screen[] = [listScreen, newScreen, proxyScreen]

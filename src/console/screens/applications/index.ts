import type { Screen } from '../../kit/screen.ts'
import { applicationScreen } from './application.ts'
import { createScreen } from './create.ts'
import { editScreen } from './edit.ts'
import { listScreen } from './list.ts'

export const applicationsScreens: readonly Screen[] = [
  listScreen,
  createScreen,
  applicationScreen,
  editScreen,
]

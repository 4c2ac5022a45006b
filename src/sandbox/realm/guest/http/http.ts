/** `http`. */
import { createModule } from './module.ts'

export const builtin = createModule('http:')

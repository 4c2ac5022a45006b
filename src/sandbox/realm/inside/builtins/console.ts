/** `require('console')`. */
import { console } from '../console.ts'

export const builtin = console

/** `constants`: those of crypto. */
import { constants } from '../crypto/constants.ts'

export const builtin = constants

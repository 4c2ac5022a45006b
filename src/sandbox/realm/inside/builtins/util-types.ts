/** `util/types`. */
const util: typeof import('node:util') = require('node:util')

export const builtin = util.types

/** `assert`, the package of that name. */
const assert: typeof import('node:assert') = require('assert/build/assert.js')

export const builtin = assert

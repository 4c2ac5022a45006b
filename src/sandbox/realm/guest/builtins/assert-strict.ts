/** `assert/strict`. */
const assert: { readonly strict: unknown } = require('node:assert')

export const builtin = assert.strict

/** `path` of a POSIX system. */
const path: typeof import('node:path').posix = require('path-browserify/index.js')

export const builtin = path

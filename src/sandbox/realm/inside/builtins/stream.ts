/** `stream`, from the readable-stream package. */
const stream: typeof import('node:stream') = require('readable-stream/lib/stream.js')

export const builtin = stream

/** `stream/promises`, from the readable-stream package. */
export const {
  finished,
  pipeline,
}: typeof import('node:stream/promises') = require('readable-stream/lib/stream/promises.js')

/** `string_decoder`, the package of that name. */
export const {
  StringDecoder,
}: typeof import('node:string_decoder') = require('string_decoder/lib/string_decoder.js')

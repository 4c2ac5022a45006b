/**
 * Those that the second of the two snapshots holds ready, because they are large and many ask for them. Making a context of
 * it costs a third more, so it serves the programs whose text looks as if they did (`asksForReady`).
 */
export const PRELOADED = ['buffer', 'crypto']

const ASKS = /\b(?:require|import|Buffer|crypto|atob|btoa|fetch|TextEncoder|TextDecoder)\b/

/** A wrong guess costs time and nothing else: what is not ready is made when it is looked at. */
export const needsPreload = (code: string): boolean => ASKS.test(code)

/**
 * Modules that customers' code may require, and what each is: a file below `inside/`, a table (`tables.ts`) or a package's
 * file. `#` ones are the globals' own.
 */
export const BUILTINS: Readonly<Record<string, string>> = {
  assert: 'assert/build/assert.js',
  'assert/strict': 'assert/build/assert.js',
  buffer: 'builtins/buffer.ts',
  console: 'console.ts',
  constants: 'tables/crypto.json',
  crypto: 'crypto/crypto.ts',
  events: 'builtins/events.ts',
  http: 'http/http.ts',
  https: 'http/https.ts',
  'node-fetch': 'fetch/node-fetch.ts',
  os: 'builtins/os.ts',
  path: 'path-browserify/index.js',
  'path/posix': 'path-browserify/index.js',
  perf_hooks: 'builtins/perf-hooks.ts',
  process: 'builtins/process.ts',
  punycode: 'punycode/punycode.js',
  querystring: 'builtins/querystring.ts',
  stream: 'readable-stream/lib/stream.js',
  'stream/promises': 'readable-stream/lib/stream/promises.js',
  string_decoder: 'string_decoder/lib/string_decoder.js',
  timers: 'builtins/timers.ts',
  'timers/promises': 'builtins/timers-promises.ts',
  url: 'url/url.ts',
  util: 'builtins/util.ts',
  'util/types': 'builtins/util-types.ts',
  zlib: 'builtins/zlib.ts',
  sidevault: 'builtins/sidevault.ts',
  // the name by which code written for services of this API family knows the errors that it may throw
  '@basis-theory/basis-theory-reactor-formulas-sdk-js': 'builtins/sidevault.ts',
  'abort-controller': 'builtins/event-target.ts',
  '#text': 'text-coding.ts',
  '#events': 'builtins/event-target.ts',
  '#clone': 'builtins/structured-clone.ts',
  '#fetch': 'fetch/fetch.ts',
  '#webcrypto': 'crypto/webcrypto.ts',
}

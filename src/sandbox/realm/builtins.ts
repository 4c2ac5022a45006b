/**
 * Modules of the second snapshot: large and often used. Its contexts cost a third more, so only programs that seem to
 * need the modules get it (`needsPreload`).
 */
export const PRELOADED = ['buffer', 'crypto']

const USES = /\b(?:require|import|Buffer|crypto|atob|btoa|fetch|TextEncoder|TextDecoder)\b/

/** A wrong guess costs only time: other modules load on first use. */
export const needsPreload = (code: string): boolean => USES.test(code)

/**
 * Modules that code may require, and their source: a file below `guest/`, a table (`tables.ts`) or a package's file.
 * Names with `#` are internal to the globals.
 */
export const BUILTINS: Readonly<Record<string, string>> = {
  assert: 'builtins/assert.ts',
  'assert/strict': 'builtins/assert-strict.ts',
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
  // package with the typed errors for code that was written for other services of this API family
  '@basis-theory/basis-theory-reactor-formulas-sdk-js': 'builtins/sidevault.ts',
  'abort-controller': 'builtins/event-target.ts',
  '#text': 'text-coding.ts',
  '#events': 'builtins/event-target.ts',
  '#clone': 'builtins/structured-clone.ts',
  '#fetch': 'fetch/fetch.ts',
  '#webcrypto': 'crypto/webcrypto.ts',
}

import { type Hostile, program } from './program.ts'

const loop = (name: string, body: string): Hostile => ({ name, code: program(body), ends: ['cpu'] })

/** Loops in every place where code can run. */
export const CPU: readonly Hostile[] = [
  loop('a loop', 'for (;;);'),
  loop('a loop that catches everything', 'for (;;) try { throw 1 } catch {}'),
  loop('a loop in finally', 'try { return 1 } finally { for (;;); }'),
  loop('nested finally', 'for (;;) { try { for (;;); } finally { for (;;) try { continue } finally {} } }'),
  loop('a loop after await', 'await null; for (;;);'),
  loop('a loop of awaits', 'for (;;) await null'),
  loop('promises that make promises', 'const next = () => Promise.resolve().then(next); await next()'),
  loop(
    'queueMicrotask without end',
    'const next = () => queueMicrotask(next); next(); await new Promise(() => {})',
  ),
  loop('a thenable that never stops', 'return { then: (done) => { for (;;); } }'),
  loop(
    'a thenable that resolves to itself anew',
    'const t = () => ({ then: (done) => done(t()) }); return t()',
  ),
  loop('a toJSON that loops', 'return { toJSON() { for (;;); } }'),
  loop('a getter of the result', 'return { get body() { for (;;); } }'),
  loop('a proxy as result', 'return new Proxy({}, { ownKeys() { for (;;); } })'),
  loop('a proxy of getters', 'return new Proxy({ a: 1 }, { get() { for (;;); } })'),
  loop('an iterator that never ends', 'for (const x of { *[Symbol.iterator]() { for (;;) yield 1 } });'),
  loop(
    'an async iterator',
    'for await (const x of { async *[Symbol.asyncIterator]() { for (;;) yield 1 } });',
  ),
  loop(
    'spread of an endless string of numbers',
    'function* all() { for (;;) yield; } const it = all(); for (const x of it);',
  ),
  loop('recursion without end, caught', 'const f = () => { try { f() } catch { f() } finally { f() } }; f()'),
  loop('a regular expression that backtracks', "return /^(a+)+$/.test('a'.repeat(60) + 'b')"),
  loop('a regular expression over captures', "return /(x+x+)+y/.exec('x'.repeat(64))"),
  loop('a replacer', "return 'a'.replace(/a/, () => { for (;;); })"),
  loop('a sort comparison', 'return [3, 2, 1].sort(() => { for (;;); })'),
  loop('a JSON reviver', "return JSON.parse('[1]', () => { for (;;); })"),
  loop('valueOf', 'return +{ valueOf() { for (;;); } }'),
  loop('a symbol conversion', 'return `${{ [Symbol.toPrimitive]() { for (;;); } }}`'),
  loop('a class with a static block', 'class A { static { for (;;); } }'),
  loop('eval', "return eval('for (;;);')"),
  loop('the Function constructor', "return Function('for (;;);')()"),
  loop('a timer that loops', 'await new Promise(() => setTimeout(() => { for (;;); }, 1))'),
  loop(
    'a loop while its promise is settled',
    'setTimeout(() => {}, 1); queueMicrotask(() => { for (;;); }); return 1',
  ),
  loop('a getter of a thrown error', 'throw { get message() { for (;;); } }'),
  loop('a stack that loops', 'Error.prepareStackTrace = () => { for (;;); }; throw new Error("x")'),
  loop(
    'a console argument',
    'console.log({ get a() { for (;;); }, toString() { for (;;); }, [Symbol.toPrimitive]() { for (;;); } }); for (;;);',
  ),
  { name: 'a loop while it is loaded', code: 'for (;;);', ends: ['cpu'] },
  {
    name: 'a loop in the getter of exports',
    code: 'Object.defineProperty(module, "exports", { get() { for (;;); } })',
    ends: ['cpu', 'unusable'],
  },
  { name: 'a loop in an ES module', code: 'for (;;);\nexport default () => 1', ends: ['cpu'] },
]

const native = (name: string, body: string): Hostile => ({
  name,
  code: program(body),
  ends: ['cpu', 'memory', 'crash', 'threw'],
})

/** Loops inside V8, which no timeout of isolated-vm ends. */
export const NATIVE: readonly Hostile[] = [
  native('indexOf over a huge length', 'return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'),
  native('join over a huge length', "return [].join.call({ length: 2 ** 32 - 1 }, '')"),
  native('lastIndexOf', 'return Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)'),
  native('includes', 'return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)'),
  native('reverse of a sparse array', 'const a = []; a[2 ** 32 - 2] = 1; return a.reverse().length'),
  native('sort of a sparse array', 'const a = []; a[2 ** 32 - 2] = 1; return a.sort().length'),
  native('fill of a huge object', 'return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 0)'),
  native('shift of a huge object', 'return Array.prototype.shift.call({ length: 2 ** 53 - 1 })'),
  native('a huge power of BigInts', 'return String((3n ** 40000000n) % 7n)'),
  native('a huge BigInt as text', 'return (1n << 8000000n).toString(10).length'),
  native(
    'normalize of a long text',
    "const s = '\\u1E9B\\u0323'.repeat(2 ** 22); for (;;) s.normalize('NFKD')",
  ),
  native(
    'a long text compared by locale',
    "const s = 'ä'.repeat(2 ** 24); for (;;) s.localeCompare(s + 'x')",
  ),
]

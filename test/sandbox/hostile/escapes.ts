import { type Hostile, harmless, program } from './program.ts'

/** Whether `process` is Node's and not a stub. */
const REAL = `const real = (p) => p && (typeof p.binding === 'function' || typeof p.dlopen === 'function' || typeof p.kill === 'function' || p.mainModule)`

/** Ways out of the realm by constructors, prototypes, and what the border hands over. */
export const ESCAPES: readonly Hostile[] = [
  harmless(
    'the constructor of a constructor',
    `${REAL}; const p = (() => {}).constructor.constructor('return typeof process === "undefined" ? null : process')(); if (real(p)) return 'process'`,
  ),
  harmless(
    'this of a sloppy function',
    `${REAL}; const g = (function () { return this })(); if (real(g.process)) return 'process'`,
  ),
  harmless(
    'the constructor of the argument',
    `${REAL}; const p = req.constructor.constructor('return globalThis.process')(); if (real(p)) return 'process'`,
  ),
  harmless(
    'the constructor of a host error',
    `${REAL}; try { require('crypto').createHash('none') } catch (e) { const p = e.constructor.constructor('return globalThis.process')(); if (real(p)) return 'process' }`,
  ),
  harmless(
    'the constructor of a result of a call',
    `${REAL}; const a = require('crypto').randomBytes(4); const p = a.constructor.constructor('return globalThis.process')(); if (real(p)) return 'process'`,
  ),
  harmless('import()', `try { await import('node:fs'); return 'fs' } catch {}`),
  harmless('import() in eval', `try { await eval("import('node:fs')"); return 'fs' } catch {}`),
  harmless(
    'import() in Function',
    `try { await Function("return import('node:child_process')")(); return 'child_process' } catch {}`,
  ),
  harmless(
    'the callers of a function',
    `function f() { return f.caller } try { const c = f(); if (c && c.caller) return String(c.caller).slice(0, 80) } catch {}`,
  ),
  harmless(
    'arguments.callee.caller',
    `const f = function () { return arguments.callee.caller }; try { const c = f(); if (c && c.caller) return String(c.caller).slice(0, 80) } catch {}`,
  ),
  harmless(
    'functions in a structured stack',
    `Error.prepareStackTrace = (_, s) => s; const s = new Error().stack; Error.prepareStackTrace = undefined; if (Array.isArray(s)) for (const f of s) { const g = f.getThis && f.getThis(); if (g && g !== globalThis && g.process && typeof g.process.kill === 'function') return 'this of ' + f.getFileName(); const fn = f.getFunction && f.getFunction(); if (fn && f.getFileName() !== 'code') return f.getFileName() }`,
  ),
  harmless(
    'a stack that overflows into the realm',
    `const f = () => { try { f() } catch (e) { if (e.constructor !== RangeError && e.constructor !== Error) throw e } }; f(); const deep = (n) => { try { return deep(n + 1) } catch { try { require('crypto').randomBytes(1) } catch (e) { const p = e && e.constructor && e.constructor.constructor; if (p && p !== Function) return 'foreign'; } } }; const found = deep(0); if (found) return found`,
  ),
  harmless(
    'the installing function',
    `if (Object.getOwnPropertyNames(globalThis).some((n) => /sidevault/i.test(n))) return 'install'`,
  ),
  harmless(
    'the names of the global object',
    `const strange = Object.getOwnPropertyNames(globalThis).filter((n) => /ivm|isolate|snapshot|callback|host/i.test(n)); if (strange.length) return strange`,
  ),
  harmless(
    'WebAssembly and shared memory',
    `if (typeof WebAssembly !== 'undefined' || typeof SharedArrayBuffer !== 'undefined' || typeof Atomics !== 'undefined') return 'there'`,
  ),
  harmless(
    'resizable buffers',
    `if (ArrayBuffer.prototype.resize || ArrayBuffer.prototype.transfer) return 'there'`,
  ),
  harmless(
    'process.binding and the like',
    `for (const k of ['binding', '_linkedBinding', 'dlopen', 'kill', 'abort', 'chdir', 'mainModule', 'reallyExit']) { try { if (typeof process[k] === 'function' && process[k]('fs')) return k } catch {} }`,
  ),
  harmless('process.exit', `try { process.exit(1) } catch {}`),
  harmless(
    'the prototype of the console',
    `${REAL}; const p = console.log.constructor('return globalThis.process')(); if (real(p)) return 'process'`,
  ),
  harmless(
    'the constructor of an async function',
    `${REAL}; const p = await (async () => {}).constructor('return globalThis.process')(); if (real(p)) return 'process'`,
  ),
  harmless(
    'an inspector',
    `for (const m of ['inspector', 'v8', 'vm', 'module', 'repl', 'async_hooks']) try { const x = require(m); if (x && (x.Session || x.setFlagsFromString || x.runInThisContext || x._load)) return m } catch {}`,
  ),
  harmless('natives syntax', `try { Function('%DebugPrint(1)')(); return 'natives' } catch {}`),
]

const pollute = (
  name: string,
  body: string,
  ends: Hostile['ends'] = ['returned', 'threw', 'cpu', 'unusable'],
): Hostile => ({
  name,
  code: program(body),
  ends,
})

/** Intrinsics replaced, so that what runs around the code trips over them. */
export const POLLUTION: readonly Hostile[] = [
  pollute(
    'Object.prototype.then',
    'Object.prototype.then = function (done) { done("polluted") }; return { a: 1 }',
  ),
  pollute('Object.prototype.toJSON', 'Object.prototype.toJSON = () => "polluted"; return { a: 1 }'),
  pollute(
    'Object.prototype.kind',
    'Object.prototype.kind = "returned"; Object.prototype.limit = "cpu"; throw new Error("x")',
    ['threw'],
  ),
  pollute(
    'Object.prototype.timeout',
    'Object.prototype.timeout = 0; Object.prototype.reference = true; Object.prototype.promise = true; return 1',
    ['returned'],
  ),
  pollute(
    'a setter for every index',
    'Object.defineProperty(Object.prototype, "0", { set() { throw 1 }, get() { return 2 } }); return [1]',
  ),
  pollute('JSON replaced', 'JSON.stringify = () => "\\"polluted\\""; JSON.parse = () => 1; return { a: 1 }', [
    'returned',
  ]),
  pollute(
    'Promise.prototype.then replaced',
    'Promise.prototype.then = () => { throw new Error("polluted") }; return 1',
  ),
  pollute('Promise replaced', 'globalThis.Promise = class { constructor() { throw 1 } }; return 1'),
  pollute(
    'Array.prototype emptied',
    'for (const k of Object.getOwnPropertyNames(Array.prototype)) try { Array.prototype[k] = () => { throw 1 } } catch {}; console.log("x", [1]); return [1]',
  ),
  pollute(
    'Function.prototype.call replaced',
    'Function.prototype.call = Function.prototype.apply = () => { for (;;); }; console.log("x"); return 1',
    ['returned', 'cpu'],
  ),
  pollute(
    'Symbol.species',
    'Array[Symbol.species]; Object.defineProperty(Array, Symbol.species, { get() { for (;;); } }); return [1].map((x) => x)',
    ['cpu', 'returned'],
  ),
  pollute(
    'Map.prototype replaced',
    'Map.prototype.get = Map.prototype.set = Map.prototype.delete = () => { throw 1 }; await new Promise((done) => setTimeout(done, 5)); return 1',
    ['returned', 'threw', 'wall', 'cpu'],
  ),
  pollute(
    'Error replaced',
    'globalThis.Error = globalThis.TypeError = function () { for (;;); }; throw { name: "x" }',
    ['threw', 'cpu'],
  ),
  pollute(
    'everything frozen',
    'for (const k of Object.getOwnPropertyNames(globalThis)) try { Object.freeze(globalThis[k]); Object.freeze(globalThis[k].prototype) } catch {}; console.log(1); return { a: 1 }',
  ),
  pollute(
    'everything deleted',
    'for (const k of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[k] } catch {}; return { a: 1 }',
  ),
  pollute(
    'String.prototype replaced',
    'for (const k of Object.getOwnPropertyNames(String.prototype)) try { String.prototype[k] = () => { throw 1 } } catch {}; throw "x"',
  ),
]

/** Errors that throw or loop when they are read. */
export const ERRORS: readonly Hostile[] = [
  pollute(
    'getters that throw',
    'throw Object.defineProperties(new Error("x"), { message: { get() { throw new Error("m") } }, name: { get() { throw 1 } }, stack: { get() { throw 2 } } })',
    ['threw'],
  ),
  pollute(
    'a proxy',
    'throw new Proxy(new Error("x"), { get() { throw 1 }, getPrototypeOf() { throw 2 }, has() { throw 3 }, getOwnPropertyDescriptor() { throw 4 } })',
    ['threw'],
  ),
  pollute('a revoked proxy', 'const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy', [
    'threw',
  ]),
  pollute('null', 'throw null', ['threw']),
  pollute('undefined', 'throw undefined', ['threw']),
  pollute('a symbol', 'throw Symbol("x")', ['threw']),
  pollute('a function', 'throw () => { for (;;); }', ['threw', 'cpu']),
  pollute('a cause in a circle', 'const e = new Error("x"); e.cause = e; throw e', ['threw']),
  pollute('an error that is a promise', 'throw Promise.reject(1)', ['threw', 'returned']),
  pollute(
    'a prepareStackTrace that throws',
    'Error.prepareStackTrace = () => { throw 1 }; throw new Error("x")',
    ['threw'],
  ),
  pollute(
    'a stack that is an object',
    'const e = new Error("x"); e.stack = { toString() { throw 1 } }; throw e',
    ['threw'],
  ),
  pollute('a toString that throws', 'throw { toString() { throw 1 }, [Symbol.toPrimitive]() { throw 2 } }', [
    'threw',
  ]),
  pollute('an overflow of the stack', 'const f = () => f(); f()', ['threw']),
  pollute('an overflow in the result', 'const f = () => ({ get a() { return f() } }); return f()', [
    'threw',
    'cpu',
    'result',
    'memory',
    'crash',
  ]),
]

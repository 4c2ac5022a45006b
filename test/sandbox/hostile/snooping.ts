import { type Hostile, harmless } from './program.ts'

/** Data that code must not read: files, network, environment, other programs. */
export const READING: readonly Hostile[] = [
  harmless(
    'the environment',
    `const e = Object.keys((globalThis.process && process.env) || {}).filter((k) => !['TZ', 'NODE_ENV'].includes(k)); if (e.length) return e`,
  ),
  harmless(
    'the arguments',
    `if ((process.argv || []).some((a) => /sandbox|node_modules/.test(a))) return process.argv`,
  ),
  harmless(
    'the working directory',
    `const d = typeof process.cwd === 'function' ? process.cwd() : '/'; if (!['/', '/code'].includes(d)) return d`,
  ),
  ...[
    'fs',
    'node:fs',
    'fs/promises',
    'child_process',
    'net',
    'dgram',
    'dns',
    'tls',
    'worker_threads',
    'cluster',
    'os',
  ].map((name) =>
    harmless(
      `require('${name}')`,
      `let m; try { m = require('${name}') } catch { return 'safe' }; for (const k of ['readFileSync', 'readFile', 'spawnSync', 'execSync', 'connect', 'createSocket', 'lookup', 'Worker', 'fork']) if (typeof m[k] === 'function') return k; if (m.networkInterfaces && Object.keys(m.networkInterfaces()).length) return 'interfaces'`,
    ),
  ),
  harmless(
    'require of a path',
    `for (const p of ['/etc/passwd', '../child/main.ts', './node_modules/isolated-vm', 'file:///etc/passwd', 'isolated-vm', 'pino', '../../package.json']) try { require(p); return p } catch {}`,
  ),
  harmless(
    'require with a hostile name',
    `for (const p of ['__proto__', 'constructor', 'toString', { toString: () => 'fs' }, ['fs'], '', null, Symbol('fs'), 'fs\\0']) try { const m = require(p); if (m !== undefined) return String(typeof m) } catch {}`,
  ),
  harmless(
    'require.cache and its friends',
    `if (require.main || require.extensions || (module.parent && module.parent.exports)) return 'there'; for (const k of Object.keys(require.cache || {})) return k`,
  ),
  harmless(
    'module.constructor',
    `try { const m = module.constructor._load && module.constructor._load('fs'); if (m) return 'fs' } catch {}`,
  ),
  harmless(
    'polluting what require gives',
    `const p = require('path'); p.join = () => 'polluted'; globalThis.leak = 1; Object.prototype.leak = 1`,
  ),
]

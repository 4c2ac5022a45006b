import { createContext, Script } from 'node:vm'
import type { Sandbox } from '../../src/sandbox/types.ts'

/** TEMPORARY */
export const startTestSandbox = async (): Promise<Sandbox> => {
  const done = { console: [], timing: { waited: 0, cpu: 0, wall: 0 } }
  const load = (code: string) => {
    const module = { exports: {} as unknown }
    const context = createContext({ module, exports: module.exports, setTimeout })
    new Script(code, { filename: 'code' }).runInContext(context)
    return module.exports
  }
  return {
    run: async ({ program, argument, host, signal }) => {
      const bt = new Proxy(
        {},
        {
          get: (_t, name: string) =>
            name === 'tokens' || name === 'reactors'
              ? new Proxy(
                  {},
                  {
                    get:
                      (_u, m: string) =>
                      (...args: never[]) =>
                        host.call(`${name}.${m}`, args, signal ?? new AbortController().signal),
                  },
                )
              : (...args: never[]) => host.call(name, args, signal ?? new AbortController().signal),
        },
      )
      let fn: unknown
      try {
        fn = load(program.code)
      } catch (e) {
        return { kind: 'unusable', message: String(e), faults: [], ...done }
      }
      if (typeof fn !== 'function')
        return { kind: 'unusable', message: 'exports no function', faults: [], ...done }
      try {
        const req = JSON.parse(argument)
        if (host.sdk) req.bt = bt
        req.fetch = (input: never) => host.call('fetch', [input], signal ?? new AbortController().signal)
        const result: unknown = await fn(req)
        return { kind: 'returned', json: JSON.stringify(result), ...done }
      } catch (e) {
        const error = e as Error & { status?: number; headers?: Record<string, string>; body?: never }
        return {
          kind: 'threw',
          name: error.name,
          message: error.message,
          frames: [],
          ...(error.status ? { status: error.status } : {}),
          ...(error.headers ? { headers: error.headers } : {}),
          ...(error.body ? { body: error.body } : {}),
          ...done,
        }
      }
    },
    check: async ({ code }) => {
      try {
        return { faults: [], exportsFunction: typeof load(code) === 'function' }
      } catch (e) {
        return { faults: [{ line: 1, column: 1, message: (e as Error).message }], exportsFunction: false }
      }
    },
    warm: async () => {},
    health: async () => {},
    close: async () => {},
  }
}

import ivm from 'isolated-vm'
import type { CodeIssue } from '../../sdk/index.ts'
import type { HostSync, LoadVerdict, RealmCall } from '../realm/abi.ts'
import type { Usable } from './compile.ts'
import { locationOf, timedOut } from './failures.ts'

/** Receives the host calls and the outcome of the code in a context. */
export interface Occupant {
  /** Remaining milliseconds of the entry. */
  timeLeft(): number
  sync(name: string, json: string): string
  async(id: number, name: string, json: string): void
  done(head: string, result: string | undefined): void
}

/** Context of one invocation: created, loaded with the code's top level, used once, released. */
export interface GuestContext {
  /** Runs the code's top level. All entries throw the errors of isolated-vm at its limits. */
  load(timeoutMs: number): LoadVerdict
  attach(occupant: Occupant): void
  /** Host functions, whose states (ciphers) live as long as the context. */
  readonly hostSync: HostSync
  start(argument: string, sdk: boolean, timeoutMs: number): void
  settle(call: number, envelope: string, timeoutMs: number): void
  /** JSON text of the console lines. */
  console(timeoutMs: number): string
  release(): void
}

const NAME = /^[A-Za-z_$][\w$]*$/

/** Text of an ES module with the exports of `require(specifier)`. */
const bridge = (specifier: string, names: readonly string[]): string => {
  const plain = names.filter((name) => NAME.test(name) && name !== 'default')
  return [
    `const all = globalThis.require(${JSON.stringify(specifier)})`,
    'export { all as default }',
    ...plain.map(
      (name, index) => `const $${index} = all[${JSON.stringify(name)}]; export { $${index} as ${name} }`,
    ),
  ].join('\n')
}

const MAX_MESSAGE = 1_000

/** A position in the code, from 1. */
const positionOf = (value: unknown): number => (Number.isSafeInteger(value) ? Math.max(1, Number(value)) : 1)

/** A verdict without what code may have forged. */
const verdictOf = (reported: unknown): LoadVerdict => {
  const { kind, message, line, column }: Record<string, unknown> = Object(reported)
  if (kind === 'function') return { kind }
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : 'The code could not be loaded.'
  if (kind !== 'threw') return { kind: 'no-function', message: text }
  return { kind, message: text, line: positionOf(line), column: positionOf(column) }
}

const threwAt = (thrown: unknown, name: string): LoadVerdict => {
  const message = thrown instanceof Error ? thrown.message : 'The code threw.'
  const [line, column] = locationOf(thrown, name)?.split(':').map(Number) ?? []
  return verdictOf({ kind: 'threw', message, line, column })
}

/** Issues of a loaded program; none when it has a function. */
export const verdictIssues = (verdict: LoadVerdict): CodeIssue[] => {
  if (verdict.kind === 'function') return []
  const { line = 1, column = 1 } = verdict.kind === 'threw' ? verdict : {}
  return [{ line, column, message: verdict.message }]
}

const reject = () => {
  throw new Error('No occupant is attached.')
}

const NO_OCCUPANT: Occupant = { timeLeft: () => 0, sync: reject, async: reject, done: reject }

type Crossing = string | number | boolean | ivm.Callback | ivm.Dereference<unknown>

/** Creates a context with the realm; no code has run yet. `settings`: JSON text of RealmSettings. */
export const createGuestContext = (
  isolate: ivm.Isolate,
  compiled: Usable,
  {
    name,
    settings,
    createHostSync,
  }: {
    readonly name: string
    readonly settings: string
    readonly createHostSync: (timeLeft: () => number) => HostSync
  },
): GuestContext => {
  let occupant = NO_OCCUPANT
  const hostSync = createHostSync(() => occupant.timeLeft())
  const context = isolate.createContextSync()
  const enter = compiled.script.runSync(context, { reference: true }) as ivm.Reference<
    (...args: unknown[]) => string
  >
  const host = (...crossed: RealmCall): string | undefined => {
    if (crossed[0] === 'sync') return occupant.sync(crossed[1], crossed[2])
    if (crossed[0] === 'async') occupant.async(crossed[1], crossed[2], crossed[3])
    else occupant.done(crossed[1], crossed[2])
    return undefined
  }

  const call = (args: Crossing[], timeout: number): string =>
    enter.applySync(undefined, args, { timeout }) as string

  const modules: ivm.Module[] = []
  const compileModule = (text: string, filename: string, cachedData?: ivm.ExternalCopy<ArrayBuffer>) => {
    const module = isolate.compileModuleSync(text, { filename, ...(cachedData ? { cachedData } : {}) })
    modules.push(module)
    return module
  }

  const loadModule = (text: string, cached: ivm.ExternalCopy<ArrayBuffer> | undefined, timeout: number) => {
    const module = compileModule(text, name, cached)
    const bridges = new Map<string, ivm.Module>()
    module.instantiateSync(context, (specifier) => {
      const known = bridges.get(specifier)
      if (known !== undefined) return known
      const names: unknown = JSON.parse(call(['exports', specifier], timeout))
      if (!Array.isArray(names)) throw new Error(`Cannot find module '${specifier.slice(0, 100)}'`)
      const module = compileModule(bridge(specifier, names.map(String)), 'import')
      bridges.set(specifier, module)
      return module
    })
    module.evaluateSync({ timeout })
    const namespace = module.namespace
    const verdict = call(['namespace', namespace.derefInto()], timeout)
    namespace.release()
    return verdict
  }

  const loadInto = (timeout: number): string => {
    const verdict = call(['open', new ivm.Callback(host), settings], timeout)
    return compiled.kind === 'module' ? loadModule(compiled.text, compiled.cached, timeout) : verdict
  }

  return {
    load: (timeout) => {
      try {
        return verdictOf(JSON.parse(loadInto(timeout)))
      } catch (thrown) {
        if (isolate.isDisposed || timedOut(thrown)) throw thrown
        return threwAt(thrown, name)
      }
    },
    hostSync,
    attach: (next) => {
      occupant = next
    },
    start: (argument, sdk, timeout) => void call(['start', argument, sdk], timeout),
    settle: (id, envelope, timeout) => void call(['settle', id, envelope], timeout),
    console: (timeout) => call(['console'], timeout),
    release: () => {
      occupant = NO_OCCUPANT
      for (const module of modules) module.release()
      enter.release()
      context.release()
    },
  }
}

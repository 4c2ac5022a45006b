import { createRequire } from 'node:module'
import type ivm from 'isolated-vm'
import {
  type Envelope,
  INSTALL,
  type LoadVerdict,
  type RealmLine,
  type RealmOutcome,
  type RealmSettings,
} from '../../../src/sandbox/realm/abi.ts'
import { createHostSync, realmScripts } from '../../../src/sandbox/realm/realm.ts'

const { Isolate, Callback }: typeof ivm = createRequire(import.meta.url)('isolated-vm')

const settings: RealmSettings = {
  name: 'request_transform',
  resultChars: 1_000_000,
  logLines: 200,
  logChars: 65_536,
  packages: [],
}

const snapshots = new Map<string, ivm.ExternalCopy<ArrayBuffer>>()

const snapshotOf = (packages: readonly string[]) => {
  const known = snapshots.get(packages.join())
  if (known) return known
  const made = Isolate.createSnapshot([...realmScripts(packages)])
  snapshots.set(packages.join(), made)
  return made
}

export interface RealmRun {
  readonly argument?: unknown
  readonly sdk?: boolean
  readonly settings?: Partial<RealmSettings>
  /** Answers host calls that take a while; timers are the kit's own. */
  readonly call?: (name: string, input: unknown) => Promise<unknown>
  readonly timeout?: number
}

export interface Ran {
  readonly verdict: LoadVerdict
  readonly outcome: RealmOutcome | undefined
  /** The parsed result. */
  readonly result: unknown
  readonly console: readonly RealmLine[]
}

/** Runs code in a realm of its own, in this process. */
export const runRealm = async (code: string, options: RealmRun = {}): Promise<Ran> => {
  const isolate = new Isolate({ memoryLimit: 128, snapshot: snapshotOf(options.settings?.packages ?? []) })
  const context = isolate.createContextSync()
  const used = { ...settings, ...options.settings }
  const timers = new Map<number, NodeJS.Timeout>()
  const timeout = options.timeout ?? 10_000
  const hostSync = createHostSync()
  const { promise, resolve, reject } = Promise.withResolvers<{ head: string; result: string | undefined }>()

  const settle = (id: number, envelope: Envelope) => {
    try {
      enter.applySync(undefined, ['settle', id, JSON.stringify(envelope)], { timeout })
    } catch (error) {
      reject(error)
    }
  }
  const hostAsync = (id: number, name: string, json: string) => {
    if (name === 'cancel') return clearTimeout(timers.get(Number(json)))
    if (name === 'timer')
      return void timers.set(
        id,
        setTimeout(() => settle(id, { ok: null }), Number(json)),
      )
    const answer = options.call?.(name, JSON.parse(json)) ?? Promise.reject(new Error('nobody answers'))
    answer.then(
      (ok) => settle(id, { ok }),
      ({ name: errorName, message, status }) =>
        settle(id, { error: { name: errorName, message, ...(status === undefined ? {} : { status }) } }),
    )
  }
  const install = context.global.getSync(INSTALL, { reference: true })
  const enter = install.applySync(
    undefined,
    [
      new Callback(hostSync),
      new Callback(hostAsync),
      new Callback((head: string, result: string | undefined) => resolve({ head, result })),
      JSON.stringify(used),
    ],
    { result: { reference: true } },
  ) as ivm.Reference<(...args: unknown[]) => string>
  try {
    const body = isolate
      .compileScriptSync(`(function (exports, require, module, __filename, __dirname) {${code}\n})`, {
        filename: used.name,
        columnOffset: -'(function (exports, require, module, __filename, __dirname) {'.length,
      })
      .runSync(context, { reference: true, timeout }) as ivm.Reference<unknown>
    const verdict: LoadVerdict = JSON.parse(
      enter.applySync(undefined, ['load', body.derefInto()], { timeout }) as string,
    )
    if (verdict.kind !== 'function') return { verdict, outcome: undefined, result: undefined, console: [] }
    enter.applySync(undefined, ['start', JSON.stringify(options.argument ?? {}), options.sdk ?? false], {
      timeout,
    })
    const { head, result } = await promise
    const outcome: RealmOutcome = JSON.parse(head)
    return {
      verdict,
      outcome,
      result: result === undefined ? undefined : JSON.parse(result),
      console: outcome.console,
    }
  } finally {
    for (const timer of timers.values()) clearTimeout(timer)
    isolate.dispose()
  }
}

/** Source of a function's body, to be run there and here. */
export const bodyOf = (run: (...args: never[]) => unknown): string => `module.exports = ${run}`

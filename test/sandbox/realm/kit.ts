import { createRequire } from 'node:module'
import type ivm from 'isolated-vm'
import type t from 'tap'
import {
  type Envelope,
  INSTALL,
  type LoadVerdict,
  type RealmCall,
  type RealmLine,
  type RealmOutcome,
  type RealmSettings,
} from '../../../src/sandbox/realm/abi.ts'
import { createHostSync, realmScripts } from '../../../src/sandbox/realm/realm.ts'

type Tap = Pick<typeof t, 'test'>

const { Isolate, Callback }: typeof ivm = createRequire(import.meta.url)('isolated-vm')

const settings: RealmSettings = {
  name: 'request_transform',
  resultChars: 1_000_000,
  logLines: 200,
  logChars: 65_536,
}

let snapshot: ivm.ExternalCopy<ArrayBuffer> | undefined

const snapshotOf = () => {
  if (snapshot) return snapshot
  const { lean, ready, warmUp } = realmScripts()
  snapshot = Isolate.createSnapshot([lean, ready], warmUp)
  return snapshot
}

interface RealmRun {
  readonly argument?: unknown
  readonly sdk?: boolean
  readonly settings?: Partial<RealmSettings>
  /** Handles host calls that take a while; timers are the kit's own. */
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
  const isolate = new Isolate({ memoryLimit: 128, snapshot: snapshotOf() })
  const context = isolate.createContextSync()
  const used = { ...settings, ...options.settings }
  const timers = new Map<number, NodeJS.Timeout>()
  const timeout = options.timeout ?? 10_000
  const hostSync = createHostSync(() => 10_000)
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
    const response =
      options.call?.(name, JSON.parse(json)) ?? Promise.reject(new Error('this test has no host'))
    response.then(
      (ok) => settle(id, { ok }),
      ({ name: errorName, message, status }) =>
        settle(id, { error: { name: errorName, message, ...(status === undefined ? {} : { status }) } }),
    )
  }
  const host = (...call: RealmCall): string | undefined => {
    if (call[0] === 'sync') return hostSync(call[1], call[2])
    if (call[0] === 'async') hostAsync(call[1], call[2], call[3])
    else resolve({ head: call[1], result: call[2] })
    return undefined
  }
  const head = `${INSTALL}(function (exports, require, module, __filename, __dirname) {`
  const enter = isolate
    .compileScriptSync(`${head}${code}\n})`, { filename: used.name, columnOffset: -head.length })
    .runSync(context, { reference: true, timeout }) as ivm.Reference<(...args: unknown[]) => string>
  try {
    const verdict: LoadVerdict = JSON.parse(
      enter.applySync(undefined, ['open', new Callback(host), JSON.stringify(used)], { timeout }) as string,
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

/** The text of a module that exports this function; types are gone from a function's text when it runs. */
const moduleOf = (run: (...args: never[]) => unknown): string => `module.exports = ${run}`

/** Exports of a module of customers' code, on plain Node. */
const loadOnNode = (code: string): ((argument: unknown) => unknown) => {
  const module = { exports: {} as (argument: unknown) => unknown }
  new Function('exports', 'require', 'module', code)(module.exports, createRequire(import.meta.url), module)
  return module.exports
}

/** Runs the function on plain Node and in a realm: both results have to be the same JSON. */
export const sameAsNode = (
  t: Tap,
  title: string,
  run: (...args: never[]) => unknown,
  options: RealmRun = {},
): void =>
  void t.test(title, async (t) => {
    const code = moduleOf(run)
    const result = await loadOnNode(code)(structuredClone(options.argument ?? {}))
    const here = await runRealm(code, options)
    t.same(here.outcome?.kind === 'returned' ? here.result : here, JSON.parse(JSON.stringify(result)))
  })

/** `fetch` as the service offers it to code, without its guard. */
export const callFetch = async (name: string, input: unknown): Promise<unknown> => {
  const { url, method, headers, body, redirect } = input as {
    url: string
    method: string
    headers: [string, string][]
    body?: string | { base64: string }
    redirect: string
  }
  if (name !== 'fetch') throw new Error(`${name} is not fetch`)
  const response = await fetch(url, {
    method,
    headers,
    redirect: redirect === 'follow' ? 'follow' : 'manual',
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' ? body : Buffer.from(body.base64, 'base64') }),
  })
  return {
    url: response.url,
    status: response.status,
    statusText: response.statusText,
    redirected: response.redirected,
    headers: [...response.headers],
    base64: Buffer.from(await response.arrayBuffer()).toString('base64'),
  }
}

/**
 * Interface between a child process (`../child/`) and the realm inside an isolate (`./`). Only strings, numbers and
 * booleans cross it. Functions never cross outwards; inwards they are isolated-vm Callbacks, which copy arguments.
 *
 * In each new context, in this order:
 * 1. The snapshot contains a global function called INSTALL. The child runs one script, `INSTALL(body) → enter`, and
 *    holds the only reference to `enter`; `body` is the function of a CommonJS module, which has not run. `INSTALL`
 *    removes itself from the global object, with WebAssembly, Atomics and SharedArrayBuffer.
 * 2. The child calls `enter` (RealmEnter) repeatedly, each time with a timeout, `open` first. Microtasks run before it
 *    returns.
 * 3. At the end, the context is released: it serves one invocation.
 * Each crossing costs some 20 µs, so there are few.
 *
 * The realm captures the intrinsics that it uses while the snapshot is made: tenants' code may replace all of them.
 */

/** Name of the global function in the snapshot. */
export const INSTALL = '__sidevault_install__'

/** Classic script that runs while a snapshot is made. */
export interface SnapshotScript {
  readonly filename: string
  readonly code: string
}

/**
 * `lean` makes a snapshot of the realm; with `ready` after it, one with large modules preloaded. `warmUp` runs in a
 * context of its own while either is made, so that isolates need not compile the functions that it calls.
 */
export interface RealmScripts {
  readonly lean: SnapshotScript
  readonly ready: SnapshotScript
  readonly warmUp: string
}

/** Settings of a context; passed to `open` as JSON text. */
export interface RealmSettings {
  /** File name of the code, without extension, as in `request_transform:3:7`. Frames of other files are not shown. */
  readonly name: string
  /** Characters of the result's JSON text; a longer one is a `limit`. */
  readonly resultChars: number
  readonly logLines: number
  readonly logChars: number
}

/**
 * Synchronous host call: `json` is the JSON text of the arguments, the result the JSON text of an Envelope. Never
 * throws. Names and arguments are internal to the realm (`./host-functions/`).
 */
export type HostSync = (name: string, json: string) => string

/**
 * Asynchronous host call, settled by `enter('settle', id, envelope)`; `id` is a positive integer that the realm
 * increments. Names:
 * - `timer`: json is the delay in milliseconds; settled with `{"ok":null}` when due (setInterval calls again).
 * - `cancel`: json is the id of a timer, which will not be settled. Not settled itself.
 * - any other: `SandboxHost.call(name, JSON.parse(json))`: `fetch`, `tokens.retrieve`, `tokenize`, `reactors.react`, …
 * Above a limit it is settled with an error envelope, like every other failure. Never throws.
 */
type HostAsync = (id: number, name: string, json: string) => void

/**
 * Reports the outcome once, during `start` or `settle`. `head` is the JSON text of a RealmOutcome; `result` is the JSON
 * text that the code returned, separate so that it is not escaped twice.
 */
export type HostDone = (head: string, result: string | undefined) => void

export type RealmCall =
  | readonly ['sync', ...Parameters<HostSync>]
  | readonly ['async', ...Parameters<HostAsync>]
  | readonly ['done', ...Parameters<HostDone>]

/** The three host calls as one function; only `sync` returns a result. */
export type RealmHost = (...call: RealmCall) => string | undefined

/** Result of a host call. */
export type Envelope = { readonly ok: unknown } | { readonly error: HostFailure }

export interface HostFailure {
  /** Class of the error that the code sees: `Error`, `TypeError`, `BadRequestError`, `AuthorizationError`, … */
  readonly name: string
  readonly message: string
  readonly status?: number
  /** Code of Node's errors: `ERR_INVALID_ARG_VALUE`, … */
  readonly code?: string
}

/** Outcome in the realm; the result's text is separate. */
export type RealmOutcome = (
  | { readonly kind: 'returned' }
  | {
      readonly kind: 'threw'
      readonly name: string
      readonly message: string
      readonly frames: readonly string[]
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: unknown
    }
  | { readonly kind: 'limit'; readonly limit: 'result'; readonly message: string }
) & { readonly console: readonly RealmLine[] }

export interface RealmLine {
  readonly level: 'log' | 'info' | 'warn' | 'error' | 'debug'
  readonly text: string
}

/** Result of `open` and `namespace`, as JSON text. */
export type LoadVerdict =
  | { readonly kind: 'function' }
  /** The top level threw. Line and column of its first own frame, if known, count from 1. */
  | { readonly kind: 'threw'; readonly message: string; readonly line?: number; readonly column?: number }
  | { readonly kind: 'no-function'; readonly message: string }

/**
 * Entry points of a context. Never throws, whatever the code did to it; only a timeout or a memory limit ends it.
 *
 * - `open`, RealmHost, JSON text of RealmSettings: opens the bridge. With a body, runs the top level of a CommonJS
 *   module, `body(exports, require, module, __filename, __dirname)`, finds the function (`module.exports`, else its
 *   `default`) and returns a LoadVerdict's JSON text. Without a body it returns nothing.
 * - `namespace`, the namespace of an evaluated ES module: finds its `default`. Returns a LoadVerdict's JSON text.
 * - `exports`, name: JSON text of the names that `require(name)` exports, for `import { a } from 'name'`; `null` when
 *   there is no such module. (Such modules get their values through `globalThis.require`, which is not enumerable.)
 * - `start`, JSON text of the argument, whether it gets `bt`: calls the function. Returns nothing.
 * - `settle`, id, JSON text of an Envelope. Returns nothing.
 * - `console`: JSON text of the lines so far (RealmLine[]), for an invocation that ended without HostDone.
 */
export type RealmEnter = {
  (entry: 'open', host: RealmHost, settings: string): string | undefined
  (entry: 'namespace', namespace: unknown): string
  (entry: 'exports', name: string): string
  (entry: 'start', argumentJson: string, sdk: boolean): undefined
  (entry: 'settle', id: number, envelope: string): undefined
  (entry: 'console'): string
}

/**
 * Exports of `./realm.ts`:
 * - `realmScripts()`: the scripts of the snapshots. Called in the parent, because Node strips types with WebAssembly,
 *   which `--jitless` disables in children. `strip` (`./strip.ts`) converts modules of children for the same reason.
 * - `createHostSync(timeLeft)`: host functions of one context, which may hold cipher states. `timeLeft`: remaining
 *   milliseconds of the entry. The child counts the calls.
 */
export interface Realm {
  realmScripts(): RealmScripts
  createHostSync(timeLeft: () => number): HostSync
}

/**
 * The border between a child process (`../child/`) and the realm inside an isolate (`./`). Only strings, numbers and
 * booleans cross it; functions cross outwards never, inwards as isolated-vm Callbacks, which copy what they are given.
 *
 * In each new context, in this order:
 * 1. The snapshot has left a global function called INSTALL. The child runs one script, `INSTALL(body) → enter`, and keeps
 *    the one reference to `enter`; `body` is a CommonJS module's, of which nothing runs yet. `INSTALL` removes itself from
 *    the global object, and everything of WebAssembly, Atomics and the like with it.
 * 2. The child calls `enter` again and again (RealmEnter), each time with a timeout, `open` first. Microtasks run before it
 *    is back.
 * 3. When all is over, the context is thrown away. Only where the operator has chosen warm contexts, one whose invocation has
 *    returned and left nothing that waits is given another `start`.
 * Each step across costs some 20 µs, so there are as few as can be.
 *
 * The realm captures what it uses of the intrinsics while the snapshot is made: customers' code may replace all of them.
 */

/** Name of the global function that the snapshot leaves. */
export const INSTALL = '__sidevault_install__'

/** The text of a classic script that runs while a snapshot is made. */
export interface SnapshotScript {
  readonly filename: string
  readonly code: string
}

/**
 * `lean` makes a snapshot that holds the realm; with `ready` after it, one in which large modules are there already.
 * `warmUp` runs in a context of its own while either is made: what it calls need not be compiled in each isolate again.
 */
export interface RealmScripts {
  readonly lean: SnapshotScript
  readonly ready: SnapshotScript
  readonly warmUp: string
}

/** What the child knows when a context is made; it reaches `open` as JSON text. */
export interface RealmSettings {
  /** File name of the code, without extension, as in `request_transform:3:7`. Frames of other files are not shown. */
  readonly name: string
  /** Characters of the result's JSON text; a longer one is a `limit`. */
  readonly resultChars: number
  readonly logLines: number
  readonly logChars: number
  /** Packages and modules, beside the built-in ones, that `require` may load. */
  readonly packages: readonly string[]
}

/**
 * Answered at once: `json` is the JSON text of the arguments, the answer is the JSON text of an Envelope. It never
 * throws. Names and shapes are the realm's own affair (`./host/`).
 */
export type HostSync = (name: string, json: string) => string

/**
 * Answered later, by `enter('settle', id, envelope)`; `id` is a positive integer that the realm counts up. Names:
 * - `timer`: json is the delay in milliseconds; settled with `{"ok":null}` when it is due (setInterval asks again).
 * - `cancel`: json is the id of a timer, which is then not settled any more. Not itself settled.
 * - any other: `SandboxHost.call(name, JSON.parse(json))`: `fetch`, `tokens.retrieve`, `tokenize`, `reactors.react`, …
 * Past a limit it is settled with an error envelope, like every other failure; it never throws.
 */
export type HostAsync = (id: number, name: string, json: string) => void

/**
 * The invocation has its outcome; called once, from within `start` or `settle`. `head` is the JSON text of a
 * RealmOutcome; `result` is the JSON text that the code returned, kept apart so that it is not escaped twice.
 */
export type HostDone = (head: string, result: string | undefined) => void

export type RealmCall =
  | readonly ['sync', ...Parameters<HostSync>]
  | readonly ['async', ...Parameters<HostAsync>]
  | readonly ['done', ...Parameters<HostDone>]

/** The three ways out as the one function that crosses; only `sync` is answered. */
export type RealmHost = (...call: RealmCall) => string | undefined

/** What a host call is answered with. */
export type Envelope = { readonly ok: unknown } | { readonly error: HostFailure }

export interface HostFailure {
  /** Class of the error that the code sees: `Error`, `TypeError`, `BadRequestError`, `AuthorizationError`, … */
  readonly name: string
  readonly message: string
  readonly status?: number
  /** As Node's errors have: `ERR_INVALID_ARG_VALUE`, … */
  readonly code?: string
}

/** How the code ended, as the realm sees it; a result's text travels beside it. */
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

/** What `open` and `namespace` answer, as JSON text. */
export type LoadVerdict =
  | { readonly kind: 'function' }
  /** The top level threw; line and column, when its first own frame is known, count from 1. */
  | { readonly kind: 'threw'; readonly message: string; readonly line?: number; readonly column?: number }
  | { readonly kind: 'no-function'; readonly message: string }

/**
 * The ways into a context. It never throws, whatever the code did to it; only a timeout or a memory limit ends it.
 *
 * - `open`, RealmHost, JSON text of RealmSettings: opens the border. With a body, runs the top level of a CommonJS module,
 *   `body(exports, require, module, __filename, __dirname)`, and finds the function: `module.exports`, else its `default`.
 *   Then it answers a LoadVerdict's JSON text, else nothing.
 * - `namespace`, the namespace of an evaluated ES module: finds its `default`. Answers a LoadVerdict's JSON text.
 * - `exports`, name: JSON text of the names that `require(name)` exports, for `import { a } from 'name'`; `null` when
 *   there is no such module. (`globalThis.require` exists, not enumerable, and is how such modules get their values.)
 * - `start`, JSON text of the argument, whether it gets `bt`: calls the function. Nothing is answered.
 * - `settle`, id, JSON text of an Envelope. Nothing is answered.
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
 * What `./realm.ts` gives:
 * - `realmScripts(packages)`: the scripts of the snapshots. Called in the parent, which sends them to its children: they are
 *   made of .ts files, and Node strips types by WebAssembly, which `--jitless` takes away (so a child cannot run .ts
 *   either, `./host/` included: `strip` of `./strip.ts` makes plain JavaScript of a file's text, without a warning);
 * - `createHostSync(timeLeft)`: one per context (it may hold cipher states), as bounded as HostSync says, in time by the
 *   milliseconds that `timeLeft` tells; the
 *   child counts the calls and stops asking it past the limit.
 */
export interface Realm {
  realmScripts(packages: readonly string[]): RealmScripts
  createHostSync(timeLeft: () => number): HostSync
}

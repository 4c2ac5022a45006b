/** A request as the steps hand it on: each adds what it has found out, and changes nothing. */
import type { Destination, Suffix } from '../egress/parse-url.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Work } from '../expressions/work.ts'
import type { ConsoleUpstream, UploadUpstream, Upstream, WebSocketUpstream } from '../ext-proc/contract.ts'
import type { Presented } from '../kernel/types.ts'
import type { Caller, CodeScope, OutboundDestination, StoredProxy, Surface, UsedToken } from '../sdk/index.ts'
import type { RequestBody } from './body/plain.ts'
import type { Tunnel } from './forward/tunnel.ts'
import type { Guard } from './guard/mode.ts'
import type { Edits, Head } from './headers.ts'
import type { RequestPlan } from './surfaces/plan.ts'
import type { Shape } from './transform/content.ts'

/** The headers of a request, as Envoy sent them. */
export interface Arrived {
  readonly head: Head
  /** Whether a body that the gateway sees follows. */
  readonly hasBody: boolean
}

interface TunnelOfRequest extends Tunnel {
  readonly path: string
}

/** A request whose headers are valid. */
export interface Accepted extends Arrived {
  /** When its headers came, ms of the steady clock. */
  readonly since: number
  readonly method: string
  /** The path after `/proxy`, without proxy keys; inside a tunnel the complete one. */
  readonly suffix: Suffix
  /** A header may hold an expression; with the destination, path or query too. */
  readonly hasBraces: boolean
  /** API key or session by which it calls. */
  readonly key: Presented
  /** Address of the client; undefined where addresses are not limited. */
  readonly address: string | undefined
  readonly proxyKey: string | undefined
  readonly dryRun: boolean
  /** A call of the console: the key is a session. */
  readonly isConsole: boolean
  /** The tunnel that it is inside of, and its path there: both decide what binds it, and no header. */
  readonly tunnel: TunnelOfRequest | undefined
}

/** A request whose key was counted. `sessionCaller`: the caller of its session, who had to be looked up for that. */
export interface Admitted extends Accepted {
  readonly sessionCaller: Caller | undefined
}

/** A request whose caller and stored proxy are known. */
export interface Identified extends Accepted {
  readonly caller: Caller
  /** Absent: the request itself says where it goes. */
  readonly proxy: StoredProxy | undefined
}

/** A request inside a tunnel, with what binds its host. */
export interface Bound extends Identified {
  readonly tunnel: TunnelOfRequest
  /** Intercepted by a stored proxy: the path behind that of its URL. */
  readonly rest: string | undefined
  /** Bound by destinations: the surfaces whose expressions are evaluated. */
  readonly boundSurfaces: readonly Surface[] | undefined
}

/** A request with the mode of the response guard for what comes back. */
export interface Guarded extends Identified {
  readonly guard: Guard
}

/** A request inside a tunnel with the same. */
export type GuardedInTunnel = Bound & Guarded

/** A request that is known to go to its destination, if its values may. */
export interface Resolved extends Guarded {
  readonly destination: Destination
  readonly upstream: Upstream | ConsoleUpstream | WebSocketUpstream
  /** Cluster of the upstreams `tls` and `console_tls`. */
  readonly cluster: string | undefined
  /** `:path` at the destination, expressions included. */
  readonly path: string
  /** Surfaces whose expressions are evaluated. */
  readonly surfaces: readonly Surface[]
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** Headers that are not forwarded. */
  readonly stripped: readonly string[]
  /** Shape of the body for the request transform; undefined: none applies. */
  readonly shape: Shape | undefined
}

/** A request with its complete body. */
export interface Received extends Resolved {
  /** As it came. */
  readonly bytes: Buffer
  /** The reply to its headers had `headEdits` already. */
  readonly isHeadSent: boolean
  /** Where a body that came in pieces goes. Absent: to the upstream. */
  readonly dialed?: { readonly upstream: UploadUpstream; readonly address?: string }
}

/** A call whose audit record is on its way to the journal. */
export interface Recorded {
  readonly recorded: Promise<void>
}

/** A request whose expressions are looked for. */
export interface Evaluated extends Resolved {
  /**
   * The body to plan: without its coding, when a transform takes it. Undefined: it is streamed, and planned in parts.
   */
  readonly sent: RequestBody | undefined
  /** Whose grants apply, and the expressions that they may write. Undefined: there is no expression. */
  readonly acting:
    | { readonly caller: Caller; readonly language: Expressions; readonly work: Work }
    | undefined
}

export interface Planned extends Evaluated {
  /** Undefined: there is no expression. */
  readonly plan: RequestPlan | undefined
}

export interface Used extends Planned {
  readonly used: ReadonlyMap<string, UsedToken>
  /** Destinations of the values that the request transform gets. */
  readonly codeScope: CodeScope | undefined
}

/** A request as it goes out. */
export interface Outgoing extends Used {
  /** Changes to its headers. */
  readonly edits: Edits
  /** Undefined: the bytes stay as they came. */
  readonly body: Buffer | undefined
  /** `:path` with values. Undefined: it holds none. */
  readonly url: string | undefined
}

/** The request as lists of destinations see it (completions §14). */
export const outboundOf = ({ destination, method, path }: Resolved): OutboundDestination => ({
  host: destination.host,
  port: destination.port,
  method,
  path,
})

/** Who shares what is limited (common/shares.ts): a tenant's anonymous callers leave room for those that it knows. */
export const ownerOf = ({ tenantId, actorType }: Caller): string =>
  actorType === 'anonymous' ? `${tenantId} anonymous` : tenantId

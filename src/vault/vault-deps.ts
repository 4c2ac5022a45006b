import type { Journal } from '../audit/types.ts'
import type { Clock } from '../common/clock.ts'
import type { Metrics } from '../common/metrics.ts'
import type { GuessLimiter } from '../common/rate-limiter.ts'
import type { Shares } from '../common/shares.ts'
import type { Expressions } from '../expressions/types.ts'
import type { Keys } from '../keys/types.ts'
import type { Tenants, TokenType, UseContext } from '../sdk/index.ts'
import type { TokenStore } from '../store/tokens/types.ts'
import type { TokenTypes } from './token-types.ts'

/** Dependencies of the vault. */
export interface VaultOptions {
  readonly tokens: TokenStore
  readonly keys: Keys
  readonly expressions: Expressions
  readonly tokenTypes: () => ReadonlyMap<string, TokenType>
  readonly tenants: Tenants
  readonly journal: Journal
  readonly clock: Clock
  readonly metrics: Metrics
  /** Counts values of `data` in searches of callers that do not see the data. Rejects with `rate_limited`. */
  readonly admitGuesses?: GuessLimiter
}

/** Limits of one call, and of all concurrent calls. */
export interface VaultLimits {
  /** Tokens that one call creates or reads. */
  readonly tokens: number
  /** Nesting of arrays and objects. */
  readonly depth: number
  /** Characters that one detokenization may insert. */
  readonly detokenized: number
  /** Bytes of stored tokens that one call opens. */
  readonly opened: number
  /** Bytes of opened tokens and values derived from them that all calls of the process hold at once. */
  readonly held: number
}

export const DEFAULT_LIMITS: VaultLimits = {
  tokens: 10_000,
  depth: 64,
  detokenized: 16 * 1024 * 1024,
  opened: 32 * 1024 * 1024,
  held: 64 * 1024 * 1024,
}

/** The dependencies with defaults applied. */
export interface VaultDeps extends Omit<VaultOptions, 'tokenTypes'> {
  readonly types: TokenTypes
  readonly limits: VaultLimits
  readonly held: Shares
}

/** The current time: a call may wait between its arrival and its work, and tokens may expire in between. */
export const timeOf = (deps: Pick<VaultDeps, 'clock'>, context: Pick<UseContext, 'now'>): number =>
  Math.max(context.now, deps.clock.now())

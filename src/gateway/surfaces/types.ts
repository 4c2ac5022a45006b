/** What a request's surfaces are evaluated from, and to. */
import type { Expressions } from '../../expressions/types.ts'
import type { UseContext, Vault } from '../../sdk/index.ts'
import type { BodyLimits } from '../body/limits.ts'
import type { Edits } from '../headers.ts'
import type { Timed } from '../timings.ts'

export interface RequestBody {
  readonly bytes: Buffer
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** Headers and URL of a request with values in. */
export interface EvaluatedHead {
  /** Adds the URL, and the headers of the request with this body, to its edits. Rejects with `invalid_expression`. */
  apply(edits: Edits, body: Buffer): Promise<Edits>
  /** Releases the values. */
  release(): void
}

export interface Detokenized {
  /** Undefined: the bytes stay as they came. */
  readonly body: Buffer | undefined
  /** `body` has no content-encoding any more. */
  readonly decoded: boolean
  /** How many were used. */
  readonly tokens: number
  /** Expressions in headers, path or query. Absent: the request has none. */
  readonly head?: EvaluatedHead
}

export interface DetokenizeDeps {
  readonly vault: Pick<Vault, 'use' | 'known'>
  readonly expressions: Expressions
  readonly limits: BodyLimits
  readonly timed: Timed
}

/** The call that a body belongs to. */
export type BodyContext = Pick<
  UseContext,
  'traceId' | 'now' | 'destination' | 'surfacesOf' | 'code' | 'decisions'
>

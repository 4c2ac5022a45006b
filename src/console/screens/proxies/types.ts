import type { EntityPage } from '../../kit/entity-screen.ts'
import type { GuardMode } from '../../kit/guard-modes.ts'

export interface Certificate {
  readonly subject: string
  readonly fingerprint: string
  readonly expires_at: string
}

interface Transform {
  readonly code: string
  readonly otherwise?: 'fail' | 'pass'
}

interface Transforms {
  readonly request_transform?: Transform
  readonly response_transform?: Transform
}

/** Members that hold code, with their labels. */
export const TRANSFORMS = {
  request_transform: 'Request transform',
  response_transform: 'Response transform',
} as const

export const TRANSFORM_KINDS = Object.keys(TRANSFORMS) as (keyof typeof TRANSFORMS)[]

export interface StoredProxy extends Transforms {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly destination_url: string
  readonly require_auth: boolean
  readonly application_id?: string
  readonly configuration?: Readonly<Record<string, unknown>>
  readonly destination_tls?: {
    readonly client_certificate?: Certificate
    readonly ca?: readonly Certificate[]
  }
  readonly evaluate: readonly string[]
  readonly intercept: boolean
  readonly response_guard?: GuardMode
  readonly created_at: string
  readonly modified_at?: string
}

export interface ProxyVersion extends Transforms {
  readonly version: number
  readonly created_at: string
  readonly created_by: string
}

export type ProxyPage = EntityPage<StoredProxy>

/** Certificates of a proxy, that which ends first in front. */
export const certificatesOf = ({ destination_tls: tls }: StoredProxy): readonly Certificate[] =>
  [...(tls?.client_certificate ? [tls.client_certificate] : []), ...(tls?.ca ?? [])].sort(
    (a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at),
  )

/** The merge patch that gives a proxy the transforms of a version. */
export const restorePatch = ({ request_transform, response_transform }: Transforms): object => ({
  request_transform: request_transform ?? null,
  // A merge patch would leave the current "otherwise" where a version has none, which is the default.
  response_transform: response_transform === undefined ? null : { otherwise: 'fail', ...response_transform },
})

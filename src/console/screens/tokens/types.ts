import type { Application, Destination, Disclosure, Rule, Token } from '../../api/types.ts'

/** A token as its own page shows it. */
export interface TokenDetail extends Token {
  /** Disclosure that the key has without `MASKED`. */
  readonly disclosure?: Disclosure
  readonly egress_only?: boolean
  readonly destinations?: readonly Destination[]
}

/** `GET /tokens/{id}/access`. */
export interface AccessEntry {
  readonly application: Pick<Application, 'id' | 'name' | 'type'>
  readonly permission: string
  readonly disclosure: Disclosure
  readonly rule?:
    | (Pick<Rule, 'priority' | 'transform' | 'destinations'> & {
        readonly description?: string
        readonly container?: string
        readonly conditions?: readonly {
          readonly attribute: string
          readonly operator: string
          readonly value: string
        }[]
      })
    | null
  readonly through?: {
    readonly type: 'session' | 'proxy' | 'reactor'
    readonly id: string
    readonly name?: string
  }
}

/** Query of every call of this screen but that of *Reveal*: no response holds more than a mask. */
export const MASK_ONLY = { disclosure: 'mask' } as const

export const TOKEN_NOT_FOUND =
  'This token does not exist. It was deleted or it expired, or its id is misspelled.'

import type { IdempotencyLease } from '../lease.ts'
import type { WireError } from './errors.ts'

/** Options of the writer thread. */
export interface WorkerOptions {
  readonly path: string
}

export interface Job {
  readonly number: number
  /** Its name. */
  readonly command: string
  readonly args: unknown
  readonly lease?: IdempotencyLease | undefined
}

export type ToWorker = { readonly kind: 'jobs'; readonly jobs: readonly Job[] } | { readonly kind: 'close' }

export type Result =
  | {
      readonly number: number
      readonly ok: true
      readonly value: unknown
      /** ms that maintenance took, without its commit. */
      readonly ms?: number
    }
  | { readonly number: number; readonly ok: false; readonly error: WireError }

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'results'; readonly results: readonly Result[] }

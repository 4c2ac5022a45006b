import type { CommandName } from '../commands/registry.ts'
import type { AnswerRight } from '../types.ts'
import type { WireError } from './errors.ts'

/** What the worker is started with. */
export interface WorkerOptions {
  readonly path: string
}

export interface Job {
  readonly number: number
  readonly command: CommandName
  readonly args: unknown
  readonly right?: AnswerRight | undefined
}

export type ToWorker = { readonly kind: 'jobs'; readonly jobs: readonly Job[] } | { readonly kind: 'close' }

export type Answer =
  | { readonly number: number; readonly ok: true; readonly value: unknown }
  | { readonly number: number; readonly ok: false; readonly error: WireError }

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }

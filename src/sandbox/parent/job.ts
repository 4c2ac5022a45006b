import type { CodeIssue } from '../../sdk/index.ts'
import type { FromChild, ProgramHeader, ToChild } from '../protocol.ts'
import type { LimitName } from '../types.ts'

/** A program with its code. */
export interface Source extends ProgramHeader {
  readonly code: string
}

/** Sends messages to the child of a job. */
export interface Channel {
  /** The child has ended. */
  readonly closed: boolean
  send(message: ToChild, body?: string): void
}

/** Work for a child. The pool assigns it, and reassigns it when the child dies because of another job. */
export interface Job {
  readonly id: number
  readonly source: Source
  /** Whether another child may restart it: it has had no effects. */
  readonly repeatable: boolean
  /** True when the job has ended, and the pool can drop it. */
  readonly over: boolean
  /** Budget of its first entry in ms; undefined when the child must report its start. */
  readonly budgetMs: number | undefined
  /** Sends it to a child. `quiet`: the child need not report its start. */
  begin(channel: Channel, quiet: boolean): void
  /** A host call; `json` is the input's JSON text. */
  onCall(message: Extract<FromChild, { kind: 'call' }>, json: string): void
  onEnded(message: Extract<FromChild, { kind: 'ended' }>, result: string): void
  onChecked(issues: readonly CodeIssue[]): void
  /** Ends it without a message from a child. */
  fail(limit: LimitName): void
}

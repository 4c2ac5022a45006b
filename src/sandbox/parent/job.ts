import type { CodeIssue } from '../../sdk/index.ts'
import type { ProgramHeader, ToChild } from '../protocol.ts'
import type { LimitName } from '../types.ts'
import type { FromChild } from './from-child.ts'

/** A program with its code, as it is handed to children. */
export interface Source extends ProgramHeader {
  readonly tenantId: string
  readonly code: string
}

/** The ways back to the child that a job is in. */
export interface Channel {
  send(message: ToChild, body?: string): void
}

/** Something that a child is to do. The pool finds it a child, and another one when that dies of somebody else. */
export interface Job {
  readonly id: number
  readonly source: Source
  /** Whether another child may begin it anew: it has done nothing that can be seen outside. */
  readonly repeatable: boolean
  /** It is over, and the pool can forget it. */
  readonly over: boolean
  /** Milliseconds of its first entry into code; undefined where a child has to say when that begins. */
  readonly budgetMs: number | undefined
  /** Gives it to a child, which need not say that it begins it when it is `quiet`. */
  begin(line: Channel, quiet: boolean): void
  onCalls(calls: Extract<FromChild, { kind: 'left' }>['calls']): void
  onEnded(message: Extract<FromChild, { kind: 'ended' }>, result: string): void
  onChecked(issues: readonly CodeIssue[], exportsFunction: boolean): void
  /** It does not get its end from a child. */
  fail(limit: LimitName): void
}

/** What the service and a child say to each other; what a child says is a schema's (`parent/from-child.ts`). */
export type { Ending, FromChild } from './parent/from-child.ts'

/** A program as a child knows it; its `key` stands for tenant, name, code and these limits. */
export interface ProgramHeader {
  readonly key: string
  readonly name: string
  readonly memoryMb: number
  readonly resultBytes: number
  readonly logLines: number
  readonly logBytes: number
}

export interface RunHeader {
  readonly kind: 'run'
  readonly id: number
  readonly key: string
  readonly sdk: boolean
  readonly cpuMs: number
  /** What is left of it. */
  readonly wallMs: number
  readonly syncCalls: number
  readonly asyncCalls: number
  /** That it is entered need not be said where it follows from what was said before (README.md, "Who is in it"). */
  readonly quiet: boolean
}

/** To a child. `run` travels with the argument, `program` with the code, `settle` with an envelope's JSON text. */
export type ToChild =
  | ({ readonly kind: 'program' } & ProgramHeader)
  | RunHeader
  | { readonly kind: 'check'; readonly id: number; readonly key: string; readonly cpuMs: number }
  | { readonly kind: 'settle'; readonly id: number; readonly call: number }
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'ping' }

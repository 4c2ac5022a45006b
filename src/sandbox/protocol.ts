/** Messages between the service and a child. Those of a child have a schema (`parent/from-child.ts`). */
export type { Ending, FromChild } from './parent/from-child.ts'

/** A program for a child. `key` identifies tenant, name, code and these limits. */
export interface ProgramHeader {
  readonly key: string
  readonly tenantId: string
  readonly name: string
  readonly memoryMib: number
  readonly resultBytes: number
  readonly logLines: number
  readonly logBytes: number
}

/** Message about an invocation or a check. Tenants take turns in a child. */
interface JobHeader {
  readonly id: number
  readonly tenantId: string
}

export interface RunHeader extends JobHeader {
  readonly kind: 'run'
  readonly key: string
  readonly sdk: boolean
  readonly cpuMs: number
  /** Remaining wall time. */
  readonly wallMs: number
  readonly syncCalls: number
  readonly asyncCalls: number
  /** The child need not report the entry when the parent can infer it (README.md, "Tracking of running code"). */
  readonly quiet: boolean
}

/** To a child. `run` travels with the argument, `program` with the code, `settle` with an envelope's JSON text. */
export type ToChild =
  | ({ readonly kind: 'program' } & ProgramHeader)
  | RunHeader
  | ({ readonly kind: 'check'; readonly key: string; readonly cpuMs: number } & JobHeader)
  | ({ readonly kind: 'settle'; readonly call: number } & JobHeader)
  | ({ readonly kind: 'cancel' } & JobHeader)
  | { readonly kind: 'ping' }

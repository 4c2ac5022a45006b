/** Messages between the service and a child. Children import only the types. */
import { Ajv, type ValidateFunction } from 'ajv'
import type { Static } from 'typebox'
import { Type } from '../common/json-schema.ts'

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

const Id = Type.Integer({ minimum: 0 })
const Ms = Type.Number({ minimum: 0 })
const Text = Type.String()
const Kind = <const K extends string>(kind: K) => Type.Literal(kind)

const Lines = Type.Array(
  Type.Object({
    level: Type.Union([Kind('log'), Kind('info'), Kind('warn'), Kind('error'), Kind('debug')]),
    text: Text,
  }),
)

const Issue = Type.Object({
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1 }),
  message: Text,
})

/** End of an invocation as the child reports it. The result's text is the body of the message. */
const Ending = Type.Union([
  Type.Object({ kind: Kind('returned'), empty: Type.Boolean() }),
  Type.Object({
    kind: Kind('threw'),
    name: Text,
    message: Text,
    frames: Type.Array(Text),
    status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
    headers: Type.Optional(Type.Record(Type.String(), Text)),
    body: Type.Optional(Type.Unknown()),
  }),
  Type.Object({
    kind: Kind('limit'),
    limit: Type.Union([Kind('cpu'), Kind('wall'), Kind('memory'), Kind('result'), Kind('host_calls')]),
    /** Line and column at a timeout: `3:7`. */
    location: Type.Optional(Text),
  }),
  Type.Object({ kind: Kind('unusable'), issues: Type.Array(Issue) }),
])
export type Ending = Static<typeof Ending>

/** From a child. A child runs untrusted code, so the parent validates every message. */
const FromChild = Type.Union([
  Type.Object({ kind: Kind('ready') }),
  Type.Object({ kind: Kind('pong') }),
  /** Starts to run code of this program for at most `budgetMs`; `id` 0: not for an invocation. */
  Type.Object({ kind: Kind('entering'), id: Id, key: Text, budgetMs: Ms }),
  /** A host call. The body is the input's JSON text. */
  Type.Object({ kind: Kind('call'), id: Id, call: Id, name: Text }),
  /** The entry ended, and the invocation waits for its calls and timers. */
  Type.Object({ kind: Kind('left'), id: Id }),
  Type.Object({
    kind: Kind('ended'),
    id: Id,
    cpuMs: Ms,
    ending: Ending,
    console: Lines,
    /** Prepares the program's next context, like `entering` with id 0 and this budget; 0: does not. */
    preparingMs: Ms,
  }),
  Type.Object({ kind: Kind('checked'), id: Id, issues: Type.Array(Issue) }),
  /** Its isolate was disposed because of another invocation of the same program. */
  Type.Object({ kind: Kind('lost'), id: Id }),
  /** The program is not in the child's cache. */
  Type.Object({ kind: Kind('unknown'), id: Id }),
])
export type FromChild = Static<typeof FromChild>

let validate: ValidateFunction<FromChild> | undefined

/** The header as a message; undefined when it is invalid. */
export const asFromChild = (header: unknown): FromChild | undefined => {
  validate ??= new Ajv({ strict: false }).compile<FromChild>(FromChild)
  return validate(header) ? header : undefined
}

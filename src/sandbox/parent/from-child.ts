/** What a child may say. It runs other people's code, so each message is held against this before it is believed. */
import { Ajv, type ValidateFunction } from 'ajv'
import { type Static, Type } from 'typebox'

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

/** How an invocation ended, in the child's view; a result's text is the message's body. */
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
    /** Line and column, `3:7`, where time was up. */
    place: Type.Optional(Text),
  }),
  Type.Object({ kind: Kind('unusable'), issues: Type.Array(Issue) }),
])
export type Ending = Static<typeof Ending>

export const FromChild = Type.Union([
  Type.Object({ kind: Kind('ready') }),
  Type.Object({ kind: Kind('pong') }),
  /** It begins to run code of this program, for at most so many milliseconds; `id` 0 is no invocation's. */
  Type.Object({ kind: Kind('entering'), id: Id, key: Text, budgetMs: Ms }),
  /** It is out again, and the invocation waits for these calls (`json` is the input's JSON text). */
  Type.Object({
    kind: Kind('left'),
    id: Id,
    calls: Type.Array(Type.Object({ call: Id, name: Text, json: Text })),
  }),
  Type.Object({
    kind: Kind('ended'),
    id: Id,
    cpuMs: Ms,
    ending: Ending,
    console: Lines,
    /** It goes on to make the program's next context, as after `entering` with id 0 and so many milliseconds; 0: it does not. */
    preparingMs: Ms,
  }),
  Type.Object({ kind: Kind('checked'), id: Id, issues: Type.Array(Issue), exportsFunction: Type.Boolean() }),
  /** Its isolate died of another invocation of the same program. */
  Type.Object({ kind: Kind('lost'), id: Id }),
  /** It has not got that program, or not any more. */
  Type.Object({ kind: Kind('unknown'), id: Id }),
])
export type FromChild = Static<typeof FromChild>

let validate: ValidateFunction<FromChild> | undefined

/** The message, or undefined when it is none. */
export const asFromChild = (header: unknown): FromChild | undefined => {
  validate ??= new Ajv({ strict: false }).compile<FromChild>(FromChild)
  return validate(header) ? header : undefined
}

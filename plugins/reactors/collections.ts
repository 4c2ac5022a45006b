import { changeMembers } from '#kit'
import { type Static, Type } from '#sdk'
import { Elements, Parameters } from './parameters.ts'

/** A formula as it is stored; times in ms since the epoch. */
export const Formulas = {
  name: 'reactor_formulas',
  schema: Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    type: Type.String(),
    status: Type.String(),
    icon: Type.Optional(Type.String()),
    code: Type.String(),
    configuration: Elements,
    request_parameters: Parameters,
    /** Ids of its reactors that act as an application. Under the formula's MAC: rows of an index can be hidden. */
    acting_reactors: Type.Array(Type.String()),
    ...changeMembers,
  }),
  sealed: ['code'],
} as const

/** A reactor as it is stored: with a formula, or with code of its own. */
export const Reactors = {
  name: 'reactors',
  schema: Type.Object({
    id: Type.String(),
    name: Type.String(),
    formula_id: Type.Optional(Type.String()),
    code: Type.Optional(Type.String()),
    application_id: Type.Optional(Type.String()),
    configuration: Type.Record(Type.String(), Type.Unknown()),
    /** Key that signs its callbacks. */
    callback_key: Type.String(),
    ...changeMembers,
  }),
  indexes: ['formula_id', 'application_id'],
  sealed: ['code', 'configuration', 'callback_key'],
} as const

/** A background invocation; times in ms since the epoch. */
export const Requests = {
  name: 'reactor_requests',
  schema: Type.Object({
    id: Type.String(),
    reactor_id: Type.String(),
    /** The caller; only it may read the result. */
    actor_id: Type.String(),
    actor_type: Type.String(),
    trace_id: Type.String(),
    /** The tokens that its arguments, and then its outcome, depend on. */
    tokens: Type.Array(Type.String()),
    /** Absent while it runs. Absent after `running_until`: it failed. */
    outcome: Type.Optional(
      Type.Object({
        tokens: Type.Optional(Type.Unknown()),
        raw: Type.Optional(Type.Unknown()),
        error: Type.Optional(
          Type.Object({
            type: Type.String(),
            code: Type.String(),
            title: Type.String(),
            status: Type.Integer(),
            detail: Type.String(),
          }),
        ),
      }),
    ),
    /** End of the lease, which its process renews. */
    running_until: Type.Integer(),
    expires_at: Type.Integer(),
  }),
  sealed: ['outcome'],
  tokens: 'tokens',
  expires: 'expires_at',
} as const

/** A pending callback, under the id of its request. */
export const Callbacks = {
  name: 'reactor_callbacks',
  schema: Type.Object({
    id: Type.String(),
    reactor_id: Type.String(),
    url: Type.String(),
    /** Started attempts. */
    attempts: Type.Integer(),
    /** Time of the next attempt, which waits for the end of the invocation. */
    due: Type.Integer(),
    expires_at: Type.Integer(),
  }),
  sealed: ['url'],
  expires: 'expires_at',
} as const

export type FormulaRecord = Static<(typeof Formulas)['schema']>
export type ReactorRecord = Static<(typeof Reactors)['schema']>
export type RequestRecord = Static<(typeof Requests)['schema']>
export type Outcome = NonNullable<RequestRecord['outcome']>
export type CallbackRecord = Static<(typeof Callbacks)['schema']>

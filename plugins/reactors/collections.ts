import { type Static, Type } from 'typebox'
import { Elements, Parameters } from './elements.ts'

const changes = {
  created_by: Type.String(),
  created_at: Type.Integer(),
  modified_by: Type.Optional(Type.String()),
  modified_at: Type.Optional(Type.Integer()),
}

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
    ...changes,
  }),
  sealed: ['code'],
} as const

/** A reactor as it is stored: of a formula, or with code of its own. */
export const Reactors = {
  name: 'reactors',
  schema: Type.Object({
    id: Type.String(),
    name: Type.String(),
    formula_id: Type.Optional(Type.String()),
    code: Type.Optional(Type.String()),
    application_id: Type.Optional(Type.String()),
    configuration: Type.Record(Type.String(), Type.Unknown()),
    ...changes,
  }),
  indexes: ['formula_id'],
  sealed: ['code', 'configuration'],
} as const

export type FormulaRecord = Static<(typeof Formulas)['schema']>
export type ReactorRecord = Static<(typeof Reactors)['schema']>

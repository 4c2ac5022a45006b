import { CODE_LENGTH, CONFIGURATION_MEMBERS, Reference, warningsOf } from '#kit'
import { type ApplicationInfo, type CodeWarning, field, isoTime, nullable, type Static, Type } from '#sdk'
import type { FormulaRecord, ReactorRecord } from './collections.ts'
import { Elements, elementsInput, Parameters, parametersInput } from './parameters.ts'

const name = Type.String({ minLength: 1, maxLength: 200 })
const code = Type.String({ minLength: 1, maxLength: CODE_LENGTH })

/** A base64 data URL of an image; a blank may stand after the comma (completions §8). */
const icon = Type.String({
  maxLength: 50_000,
  pattern: '^data:image/(png|jpg|jpeg);base64, ?[A-Za-z0-9+/]+={0,2}$',
})

/** Body of a create and of an update of a formula. */
export const FormulaInput = Type.Object({
  name: field(1, name),
  description: nullable(2, Type.String({ maxLength: 1_000 })),
  type: Type.Enum(['official', 'private'], { field: 3 }),
  icon: nullable(4, icon),
  code: field(5, code),
  configuration: elementsInput(6),
  request_parameters: parametersInput(7),
})

const id = Type.String({ field: 100 })

export const FormulaUpdate = Type.Object({ id, ...FormulaInput.properties })

const time = (number: number) => Type.Optional(Type.String({ format: 'date-time', field: number }))
const text = (number: number) => Type.Optional(Type.String({ field: number }))

/** The interface's Reactor Formula. */
export const FormulaOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    name: Type.String({ field: 2 }),
    description: text(3),
    type: Type.String({ field: 4 }),
    status: Type.String({ field: 5 }),
    icon: text(6),
    code: Type.String({ field: 7 }),
    configuration: field(8, Elements),
    request_parameters: field(9, Parameters),
    created_by: text(10),
    created_at: time(11),
    modified_by: text(12),
    modified_at: time(13),
    warnings: warningsOf(14),
  },
  { title: 'ReactorFormula' },
)

const optional = {
  formula: nullable(2, Reference),
  code: nullable(3, code),
  configuration: nullable(
    4,
    Type.Record(Type.String(), Type.Unknown(), { maxProperties: CONFIGURATION_MEMBERS }),
  ),
  application: nullable(5, Reference),
}

/** Body of a check of code. */
export const ReactorCode = Type.Object({ code: field(1, code) })

/** Body of a create and of an update of a reactor. */
export const ReactorInput = Type.Object({ name: field(1, name), ...optional })

export const ReactorUpdate = Type.Object({ id, ...ReactorInput.properties })

/** A JSON merge patch (RFC 7386) of a reactor. */
export const ReactorPatch = Type.Object({ id, name: nullable(1, name), ...optional })

/** The application that a reactor acts as. */
const Application = Type.Object(
  {
    id: Type.String({ field: 1 }),
    tenant_id: Type.String({ field: 2 }),
    name: Type.String({ field: 3 }),
    type: Type.String({ field: 4 }),
    permissions: Type.Array(Type.String(), { field: 5 }),
    created_by: Type.String({ field: 6 }),
    created_at: Type.String({ format: 'date-time', field: 7 }),
    modified_by: text(8),
    modified_at: time(9),
  },
  { title: 'ReactorApplication' },
)

/** A reactor, with its formula and its application (completions §8). */
export const ReactorOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    tenant_id: Type.String({ field: 2 }),
    name: Type.String({ field: 3 }),
    formula: Type.Optional(field(4, FormulaOutput)),
    code: text(5),
    configuration: Type.Record(Type.String(), Type.Unknown(), { field: 6 }),
    application: Type.Optional(field(7, Application)),
    created_by: text(8),
    created_at: time(9),
    modified_by: text(10),
    modified_at: time(11),
    warnings: warningsOf(12),
    callback_key: Type.String({
      field: 13,
      description: 'Key that signs callbacks of this reactor.',
    }),
  },
  { title: 'Reactor' },
)

const timesOf = (record: { readonly created_at: number; readonly modified_at?: number }) => ({
  created_at: isoTime(record.created_at),
  ...(record.modified_at === undefined ? {} : { modified_at: isoTime(record.modified_at) }),
})

const warned = (warnings: readonly CodeWarning[]) =>
  warnings.length === 0 ? {} : { warnings: [...warnings] }

/** A formula as the API shows it. */
export const formulaOutput = (
  { created_at, modified_at, acting_reactors: _, ...formula }: FormulaRecord,
  warnings: readonly CodeWarning[] = [],
): Static<typeof FormulaOutput> => ({
  ...formula,
  ...timesOf({ created_at, ...(modified_at === undefined ? {} : { modified_at }) }),
  ...warned(warnings),
})

const applicationOutput = (application: ApplicationInfo): Static<typeof Application> => ({
  id: application.id,
  tenant_id: application.tenant_id,
  name: application.name,
  type: application.type,
  permissions: [...application.permissions],
  created_by: application.created_by,
  ...(application.modified_by === undefined ? {} : { modified_by: application.modified_by }),
  ...timesOf(application),
})

/** A reactor as the API shows it. */
export const reactorOutput = (
  tenantId: string,
  reactor: ReactorRecord,
  embedded: {
    readonly formula: FormulaRecord | undefined
    readonly application: ApplicationInfo | undefined
  },
  warnings: readonly CodeWarning[] = [],
): Static<typeof ReactorOutput> => ({
  id: reactor.id,
  tenant_id: tenantId,
  name: reactor.name,
  ...(embedded.formula ? { formula: formulaOutput(embedded.formula) } : {}),
  ...(reactor.code === undefined ? {} : { code: reactor.code }),
  configuration: reactor.configuration,
  callback_key: reactor.callback_key,
  ...(embedded.application ? { application: applicationOutput(embedded.application) } : {}),
  created_by: reactor.created_by,
  ...(reactor.modified_by === undefined ? {} : { modified_by: reactor.modified_by }),
  ...timesOf(reactor),
  ...warned(warnings),
})

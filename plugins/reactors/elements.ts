import { type Static, Type } from 'typebox'
import { orNull } from '#sdk'

/** Elements of a list (completions §11). */
const MAX_ELEMENTS = 25

const name = Type.String({ minLength: 1, maxLength: 200, field: 1 })
const type = Type.Enum(['string', 'boolean', 'number'], { field: 3 })
const description = orNull(2, Type.String({ maxLength: 1_000 }))

/** The interface's Configuration Element. */
export const ElementInput = Type.Object({ name, description, type }, { title: 'ConfigurationElementInput' })

/** The interface's Request Parameter Element. */
export const ParameterInput = Type.Object(
  {
    name,
    description,
    type,
    optional: orNull(4, Type.Boolean({ default: false })),
  },
  { title: 'RequestParameterElementInput' },
)

export const elementsInput = (field: number) =>
  orNull(field, Type.Array(ElementInput, { maxItems: MAX_ELEMENTS }))

export const parametersInput = (field: number) =>
  orNull(field, Type.Array(ParameterInput, { maxItems: 4 * MAX_ELEMENTS }))

const kept = { name, description: Type.Optional(Type.String({ field: 2 })), type }

const Element = Type.Object(kept, { title: 'ConfigurationElement' })
const Parameter = Type.Object(
  { ...kept, optional: Type.Boolean({ field: 4 }) },
  { title: 'RequestParameterElement' },
)

/** As stored and answered. */
export const Elements = Type.Array(Element)
export const Parameters = Type.Array(Parameter)

export type ElementType = Static<typeof Element>['type']

type Faults = [path: string, message: string][]

const twice = (path: string, names: readonly string[]): Faults =>
  names.flatMap(
    (name, index): Faults =>
      names.indexOf(name) < index ? [[`${path}[${index}].name`, 'must not be that of another element']] : [],
  )

/** What a schema cannot say of configuration elements. */
export const elementFaults = (elements: readonly Static<typeof ElementInput>[]): Faults => [
  ...twice(
    'configuration',
    elements.map(({ name }) => name),
  ),
  ...elements.flatMap(
    ({ name }, index): Faults =>
      name.includes('.')
        ? [[`configuration[${index}].name`, 'must not hold a dot: configuration is not nested']]
        : [],
  ),
]

/** What a schema cannot say of request parameters. */
export const parameterFaults = (parameters: readonly Static<typeof ParameterInput>[]): Faults => [
  ...twice(
    'request_parameters',
    parameters.map(({ name }) => name),
  ),
  ...parameters.flatMap(
    ({ name }, index): Faults =>
      name.split('.').some((part) => part === '' || part === '__proto__')
        ? [[`request_parameters[${index}].name`, 'must be a name, or names joined by single dots']]
        : [],
  ),
]

/** Elements as they are stored: what was null is left out. */
export const storedElements = (elements: readonly Static<typeof ElementInput>[]): Static<typeof Elements> =>
  elements.map(({ name, description, type }) => ({
    name,
    ...(description ? { description } : {}),
    type,
  }))

export const storedParameters = (
  parameters: readonly Static<typeof ParameterInput>[],
): Static<typeof Parameters> =>
  parameters.map(({ name, description, type, optional }) => ({
    name,
    ...(description ? { description } : {}),
    type,
    optional: optional ?? false,
  }))

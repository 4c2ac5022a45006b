import type { FieldIssue } from '#kit'
import { nullable, type Static, Type } from '#sdk'

/** Elements of a list (completions §11). */
const MAX_ELEMENTS = 25

const name = Type.String({ minLength: 1, maxLength: 200, field: 1 })
const type = Type.Enum(['string', 'boolean', 'number'], { field: 3 })
const description = nullable(2, Type.String({ maxLength: 1_000 }))

/** The interface's Configuration Element. */
const ElementInput = Type.Object({ name, description, type }, { title: 'ConfigurationElementInput' })

/** The interface's Request Parameter Element. */
const ParameterInput = Type.Object(
  {
    name,
    description,
    type,
    optional: nullable(4, Type.Boolean({ default: false })),
  },
  { title: 'RequestParameterElementInput' },
)

export const elementsInput = (field: number) =>
  nullable(field, Type.Array(ElementInput, { maxItems: MAX_ELEMENTS }))

export const parametersInput = (field: number) =>
  nullable(field, Type.Array(ParameterInput, { maxItems: 4 * MAX_ELEMENTS }))

const retained = { name, description: Type.Optional(Type.String({ field: 2 })), type }

const Element = Type.Object(retained, { title: 'ConfigurationElement' })
const Parameter = Type.Object(
  { ...retained, optional: Type.Boolean({ field: 4 }) },
  { title: 'RequestParameterElement' },
)

/** As stored and returned. */
export const Elements = Type.Array(Element)
export const Parameters = Type.Array(Parameter)

export type ElementType = Static<typeof Element>['type']

const twice = (path: string, elements: readonly { readonly name: string }[]): FieldIssue[] =>
  elements.map(({ name }, index) => [
    `${path}[${index}].name`,
    elements.findIndex((other) => other.name === name) < index
      ? 'must not be that of another element'
      : undefined,
  ])

/** Issues of configuration elements that a schema cannot express. */
export const elementIssues = (elements: readonly Static<typeof ElementInput>[]): readonly FieldIssue[] => [
  ...twice('configuration', elements),
  ...elements.map(
    ({ name }, index): FieldIssue => [
      `configuration[${index}].name`,
      name.includes('.') ? 'must not hold a dot: configuration is not nested' : undefined,
    ],
  ),
]

/** Issues of request parameters that a schema cannot express. */
export const parameterIssues = (
  parameters: readonly Static<typeof ParameterInput>[],
): readonly FieldIssue[] => [
  ...twice('request_parameters', parameters),
  ...parameters.map(
    ({ name }, index): FieldIssue => [
      `request_parameters[${index}].name`,
      name.split('.').some((part) => part === '' || part === '__proto__')
        ? 'must be a name, or names joined by single dots'
        : undefined,
    ],
  ),
]

/** Elements as they are stored, without null members. */
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

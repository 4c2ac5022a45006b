import type { TSchema } from 'typebox'
import { isObject, type Json, pointerParts } from '../../common/json.ts'
import { Type } from '../../common/json-schema.ts'
import type { Expressions } from '../../expressions/types.ts'
import type { NamedCheck, TokenType } from '../../sdk/index.ts'
import { asSchema, branches, type JsonSchema } from '../json-schema.ts'
import { Callable, checkCompiles, checkDeclaration, issue, issueOfHolder, noOthers } from './declaration.ts'
import { checkDataExamples, ExampleData } from './examples.ts'
import { checkCheck, checkNormalize } from './functions.ts'
import type { Issues } from './issues.ts'
import { shows } from './mask-leak-check.ts'

const MAX_EXPRESSION = 400
const MAX_INDEXES = 10

const NOT_AN_EXPRESSION = ['it is not an expression.', 'Write it like "{{ data.number }}".'] as const
const NOT_A_POINTER = [
  '{value} is not a JSON pointer.',
  'Write it like "/number"; "" is all of the data.',
] as const
const POINTER = '^(?:/(?:[^~/]|~[01])*)*$'
const NAMED_CHECKS = ['luhn', 'aba', 'iban'] as const satisfies readonly NamedCheck[]

const list = <T extends TSchema>(name: string, items: T) =>
  Type.Optional(Type.Array(items, issueOfHolder(`"${name}" is not a list.`, 'Write it in brackets.')))

const pointerOfItem = Type.String({ pattern: POINTER, ...issueOfHolder(...NOT_A_POINTER) })

const optionalFunction = Type.Optional(
  Callable(issue('it is not a function.', 'Give (data) => …, or leave it out.')),
)

/** Schema of a token type. */
export const TokenTypeDeclaration = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z0-9_]{1,50}$',
      ...issueOfHolder(
        'its name is not valid.',
        'Use lower-case letters, digits and underscores, at most 50.',
      ),
    }),
    title: Type.String({
      minLength: 1,
      ...issueOfHolder('it has no title.', 'Give the name that people read, e.g. "Loyalty card".'),
    }),
    data: Type.Object({}, issue('there is no schema of its data.', 'Give a JSON Schema.')),
    normalize: optionalFunction,
    check: optionalFunction,
    health: optionalFunction,
    checks: list(
      'checks',
      Type.Object(
        {
          check: Type.Enum(
            NAMED_CHECKS,
            issueOfHolder('there is no check {value}.', `Known are ${NAMED_CHECKS.join(', ')}.`),
          ),
          at: pointerOfItem,
        },
        issue('it is not a check of a member.', 'Write { check, at }.'),
      ),
    ),
    /** Stored lower case (completions §4). */
    container: Type.String({
      pattern: '^/(?:[a-z0-9_-]+/)+$',
      ...issue('{value} is not a container.', 'Write a path of lower-case names like "/pci/high/".'),
    }),
    mask: Type.Optional(Type.Unknown()),
    fingerprint: Type.Optional(Type.String(issue(...NOT_AN_EXPRESSION))),
    searchIndexes: list('searchIndexes', Type.String(issue(...NOT_AN_EXPRESSION))),
    writeOnly: list('writeOnly', Type.String({ pattern: POINTER, ...issue(...NOT_A_POINTER) })),
    ephemeral: list(
      'ephemeral',
      Type.Object(
        {
          at: pointerOfItem,
          seconds: Type.Integer({
            minimum: 1,
            ...issueOfHolder(
              '"seconds" is not a whole number above 0.',
              'Say after how many seconds the member is removed.',
            ),
          }),
        },
        issue('it is not an ephemeral member.', 'Write { at, seconds }.'),
      ),
    ),
    examples: Type.Optional(ExampleData),
  } satisfies Record<keyof TokenType, TSchema>,
  {
    ...issue('it is not an object.', 'Give { name, title, data, container }.'),
    ...noOthers('a token type has no member "{member}".'),
  },
)

const strings = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(strings)
      : []

/** False when the schema lists its members and the pointer names none of them. */
const mayExist = (schema: JsonSchema, [head, ...rest]: readonly string[]): boolean => {
  if (head === undefined) return true
  return branches(schema).some((branch) => {
    if (branch.properties === undefined) return true
    const property = branch.properties[head]
    return property === undefined ? isObject(branch.additionalProperties) : mayExist(property, rest)
  })
}

const checkPointer = (pointer: string, data: JsonSchema, issues: Issues) => {
  if (!mayExist(data, pointerParts(pointer)))
    issues.add(`"${pointer}" names no member of the data schema.`, 'Correct it, or add the member.')
}

const checkExpression = (text: string, expressions: Expressions, issues: Issues) => {
  if (text.length > MAX_EXPRESSION)
    issues.add(`it is longer than ${MAX_EXPRESSION} characters.`, 'Shorten it, or use "normalize".')
  try {
    expressions.parseStored(text)
  } catch (thrown) {
    issues.add(`it does not parse: ${(thrown as Error).message}`, 'Correct the expression.')
  }
}

/** All issues of one token type by itself: container, expressions, pointers, and leaks of its mask. */
export const checkTokenType = (type: TokenType, expressions: Expressions, issues: Issues): void => {
  const isValid = checkDeclaration(TokenTypeDeclaration, type, issues)
  const validList = <M extends 'checks' | 'ephemeral' | 'searchIndexes' | 'writeOnly'>(member: M) =>
    (isValid(member) && type[member]) || []
  const data = asSchema(type.data)
  if (isValid('data')) checkCompiles(type.data, issues.at('data'))

  for (const text of strings(type.mask)) checkExpression(text, expressions, issues.at('mask'))
  if (type.fingerprint !== undefined && isValid('fingerprint'))
    checkExpression(type.fingerprint, expressions, issues.at('fingerprint'))
  const indexes = validList('searchIndexes')
  if (indexes.length > MAX_INDEXES)
    issues
      .at('searchIndexes')
      .add(`there are more than ${MAX_INDEXES}.`, 'Keep the ones that are searched for.')
  for (const [index, text] of indexes.entries())
    if (isValid('searchIndexes', index))
      checkExpression(text, expressions, issues.at(`searchIndexes[${index}]`))

  for (const member of ['checks', 'ephemeral'] as const)
    for (const [index, item] of validList(member).entries())
      if (isValid(member, index, 'at')) checkPointer(item.at, data, issues.at(`${member}[${index}]`))
  for (const [index, pointer] of validList('writeOnly').entries()) {
    if (!isValid('writeOnly', index)) continue
    checkPointer(pointer, data, issues.at(`writeOnly[${index}]`))
    const reveals = (expression: Json | undefined) =>
      expression !== undefined && shows(expression, pointer, data, expressions)
    if (reveals(type.mask))
      issues
        .at('mask')
        .add(`it shows "${pointer}", which must never be returned.`, 'Leave that member out of the mask.')
    for (const [number, text] of indexes.entries())
      if (isValid('searchIndexes', number) && reveals(text))
        issues
          .at(`searchIndexes[${number}]`)
          .add(
            `a caller that searches could guess "${pointer}", which must never be returned.`,
            'Leave that member out of the index.',
          )
  }
  const writeOnly = validList('writeOnly').filter((_, index) => isValid('writeOnly', index))
  if (isValid('normalize')) checkNormalize({ ...type, writeOnly }, data, issues)
  if (isValid('check')) checkCheck(type, data, issues)
  if (isValid('examples')) checkDataExamples(type, issues)
}

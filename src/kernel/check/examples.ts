import { isDeepStrictEqual } from 'node:util'
import { ERRORS } from '../../common/errors.ts'
import type { Json } from '../../common/json.ts'
import { Type } from '../../common/json-schema.ts'
import { compileValidator } from '../../common/validate.ts'
import type { Operation, TokenType } from '../../sdk/index.ts'
import { compilePrune } from '../prune.ts'
import { type IsValid, issue, issueOfHolder } from './declaration.ts'
import { firstLine, type Issues } from './issues.ts'

const FIX = 'Correct the example, or the schema.'

/** The value as JSON; undefined when it cannot be expressed. */
const asJson = (value: unknown): Json | undefined => {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? undefined : (JSON.parse(text) as Json)
  } catch {
    return undefined
  }
}

/** True when the value fits the schema and, if `closed`, has no undeclared member. */
const checkValue = (schema: unknown, value: unknown, closed: boolean, issues: Issues): boolean => {
  const json = asJson(value)
  if (json === undefined) {
    issues.add('it is no JSON.', 'Write plain data.')
    return false
  }
  if (closed && !isDeepStrictEqual(compilePrune(schema)(json), json)) {
    issues.add('it has members that the schema does not name.', FIX)
    return false
  }
  let errors: Readonly<Record<string, readonly string[]>>
  try {
    errors = compileValidator(schema)(json)?.errors ?? {}
  } catch {
    // Issues of the schema are reported where it is declared.
    return false
  }
  for (const [path, sentences] of Object.entries(errors))
    issues.add(`"${path}" ${sentences.join(', ')}.`, FIX)
  return Object.keys(errors).length === 0
}

const ERROR_CODES = Object.keys(ERRORS)

const notAList = issue('it is not a list.', 'Write it in brackets.')

/** Schema of the examples of an operation. */
export const ExampleCalls = Type.Array(
  Type.Object(
    {
      summary: Type.String({ minLength: 1 }),
      error: Type.Optional(
        Type.Object(
          {
            code: Type.Enum(
              ERROR_CODES,
              issueOfHolder('{value} is not a code of a failure.', `Use one of ${ERROR_CODES.join(', ')}.`),
            ),
            detail: Type.String({
              minLength: 1,
              ...issueOfHolder('it has no detail.', 'Add the text of the error response.'),
            }),
          },
          issue('it is not a failure.', 'Write { code, detail }.'),
        ),
      ),
    },
    issue('it has no summary.', 'Write { summary, input, output }.'),
  ),
  notAList,
)

/** Schema of the examples of a token type's data. */
export const ExampleData = Type.Array(Type.Unknown(), notAList)

/**
 * Issues of an operation's examples: an input or output that its schema rejects, or that has members which a call would
 * drop. The input of an example that fails may be anything.
 */
export const checkExamples = (
  { examples = [], input, output }: Operation,
  isValid: IsValid,
  issues: Issues,
): void => {
  const summaries = new Set<string>()
  for (const [index, example] of examples.entries()) {
    if (!isValid('examples', index)) continue
    const at = issues.at(`examples[${index}]`)
    if (summaries.has(example.summary))
      at.add('another example of the operation has its summary.', 'Say what is different.')
    summaries.add(example.summary)
    if ('error' in example === 'output' in example)
      at.add('it has no result.', 'Give either an output or an error.')
    else if ('output' in example) {
      checkValue(input, example.input, true, at.at('input'))
      checkValue(output, example.output, true, at.at('output'))
    }
  }
}

/** Issues of the examples of a token type's data. */
export const checkDataExamples = (
  { examples = [], data, normalize, check }: TokenType,
  issues: Issues,
): void => {
  for (const [index, example] of examples.entries()) {
    const at = issues.at(`examples[${index}]`)
    if (!checkValue(data, example, false, at) || check === undefined) continue
    const json = asJson(example)!
    let dataIssues: unknown
    try {
      dataIssues = check(normalize ? normalize(json) : json)
    } catch (thrown) {
      at.add(`its check throws: ${firstLine(thrown)}.`, 'Correct the example, or the check.')
      continue
    }
    if (Array.isArray(dataIssues) && dataIssues.length > 0)
      at.add('its own check rejects it.', 'Correct the example, or the check.')
  }
}

import { types } from 'node:util'
import type { TSchema } from 'typebox'
import { Type } from '../../common/json-schema.ts'
import type { Check } from '../../sdk/index.ts'
import { Callable, checkDeclaration, HealthFunction, issue, issueOfHolder, noOthers } from './declaration.ts'
import type { Issues } from './issues.ts'

/** Schema of a check of proxied calls. */
const CheckDeclaration = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z][a-z0-9-]{0,49}$',
      ...issueOfHolder(
        'its name is not valid.',
        'Use lower-case letters, digits and dashes, a letter first, at most 50.',
      ),
    }),
    on: Type.Enum(['request', 'response'], issue('it is {value}.', "Set on: 'request' or on: 'response'.")),
    fail: Type.Enum(
      ['closed', 'open'],
      issue(
        'it is {value}.',
        "Set fail: 'closed' to reject the calls that the check does not decide, or fail: 'open' to let them pass.",
      ),
    ),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000,
        ...issue('it is {value}.', 'Give milliseconds from 1 to 1000, or leave it out for 250.'),
      }),
    ),
    handle: Callable(issueOfHolder('it has no handle function.', 'Add async handle(call, signal) { … }.')),
    health: HealthFunction(),
  } satisfies Record<keyof Check, TSchema>,
  {
    ...issue('it is not an object.', 'Give { name, on, fail, handle }.'),
    ...noOthers('a check has no member "{member}".'),
  },
)

/** All issues of one check of proxied calls by itself. */
export const checkProxyCheck = (check: Check, issues: Issues): void => {
  const isValid = checkDeclaration(CheckDeclaration, check, issues)
  if (isValid('handle') && !types.isAsyncFunction(check.handle))
    issues
      .at('handle')
      .add('it is no async function.', 'Declare it with "async": a check is timed by its promise.')
}

import type { TSchema } from 'typebox'
import { Type } from '../../common/json-schema.ts'
import type { Consumer, Job } from '../../sdk/index.ts'
import { AsyncCallable, HealthFunction, issueOfHolder, noOthers } from './declaration.ts'

const name = Type.String({
  pattern: '^[a-z][a-z0-9-]{0,49}$',
  ...issueOfHolder(
    'its name is not valid.',
    'Use lower-case letters, digits and dashes, a letter first, at most 50.',
  ),
})

export const ConsumerDeclaration = Type.Object(
  {
    name,
    from: Type.Enum(
      ['now', 'start'],
      issueOfHolder(
        '"from" is not "now" or "start".',
        'Set where it starts: after the newest record, or at the oldest.',
      ),
    ),
    handle: AsyncCallable(
      issueOfHolder('"handle" is not an async function.', 'Write async handle(records, signal) { … }.'),
    ),
    health: HealthFunction(),
    isIdle: Type.Optional(
      AsyncCallable(issueOfHolder('"isIdle" is not an async function.', 'Write async isIdle() { … }.')),
    ),
  } satisfies Record<keyof Consumer, TSchema>,
  noOthers('a consumer has no member "{member}".'),
)

export const JobDeclaration = Type.Object(
  {
    name,
    every: Type.Number({
      minimum: 10,
      ...issueOfHolder('"every" is {value}, not a number of seconds from 10.', 'Set 10 or more.'),
    }),
    run: AsyncCallable(issueOfHolder('"run" is not an async function.', 'Write async run(signal) { … }.')),
    health: HealthFunction(),
  } satisfies Record<keyof Job, TSchema>,
  noOthers('a job has no member "{member}".'),
)

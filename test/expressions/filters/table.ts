import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { Json } from '../../../src/common/json.ts'
import { createExpressions } from '../../../src/expressions/expressions.ts'

const expressions = createExpressions()

/** Data, expression over `data`, expected value. Each is checked as a stored expression and as a detokenization. */
type Example = readonly [data: Json, filters: string, expected: Json]

export const evaluate = (data: Json, filters: string): Json =>
  expressions.parseStored(`{{ data ${filters} }}`).evaluate({ data })

const detokenize = (data: Json, filters: string): Json =>
  expressions.parse(`{{ tok ${filters} }}`).evaluate(() => ({ data, token: { id: 'tok', data } }))

export const checkExamples = (examples: readonly Example[]): void => {
  for (const [data, filters, expected] of examples)
    t.test(`${JSON.stringify(data)} ${filters} gives ${JSON.stringify(expected)}`, async (t) => {
      t.strictSame(evaluate(data, filters), expected)
      t.strictSame(detokenize(data, filters), expected)
    })
}

/** Each must be rejected as `invalid_expression`, without quoting the value. */
export const checkRejections = (examples: readonly (readonly [data: Json, filters: string])[]): void => {
  for (const [data, filters] of examples)
    t.test(`${JSON.stringify(data)} ${filters} is rejected`, async (t) => {
      for (const run of [evaluate, detokenize]) {
        const error = (() => {
          try {
            return run(data, filters)
          } catch (thrown) {
            return thrown
          }
        })()
        t.ok(error instanceof AppError && error.code === 'invalid_expression', 'invalid_expression')
        if (!(error instanceof AppError)) continue
        const secret = typeof data === 'string' ? data : JSON.stringify(data)
        t.notOk(secret.length > 3 && error.message.includes(secret), 'the value is not in the message')
      }
    })
}

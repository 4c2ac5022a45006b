/** Lists of steps: what a kind of request is put together from (kinds.ts). */
import type { Eventual } from '../common/eventual.ts'
import type { RequestContext } from './request-context.ts'
import type { Stage } from './timings.ts'

/**
 * One step of a request: its input is the output of the step before it. Throws or rejects with the error that the
 * caller gets. Returns a value where there is nothing to wait for.
 */
export type Step<I, O> = (input: I, context: RequestContext) => Eventual<O>

/** Steps in order, and a step itself. The first error ends it. */
interface Steps<I, O> extends Step<I, O> {
  /** The list with one more step. */
  next<P>(step: Step<O, P>): Steps<I, P>
}

type AnyStep = Step<unknown, unknown>

const run = (list: readonly AnyStep[], from: number, input: unknown, context: RequestContext): unknown => {
  let value = input
  for (let at = from; at < list.length; at++) {
    const output = (list[at] as AnyStep)(value, context)
    if (output instanceof Promise)
      return at === list.length - 1 ? output : output.then((resolved) => run(list, at + 1, resolved, context))
    value = output
  }
  return value
}

const listOf = <I, O>(list: readonly AnyStep[]): Steps<I, O> =>
  Object.assign((input: I, context: RequestContext) => run(list, 0, input, context) as Eventual<O>, {
    next: <P>(step: Step<O, P>) => listOf<I, P>([...list, step as AnyStep]),
  })

/** A list that begins with this step. */
export const first = <I, O>(step: Step<I, O>): Steps<I, O> => listOf([step as AnyStep])

/** A step whose duration is observed. */
export const inStage =
  <I, O>(stage: Stage, step: Step<I, O>): Step<I, O> =>
  (input, context) =>
    context.timed(stage, () => step(input, context))

import { methodOf, pathOf } from '../../kernel/check-operation.ts'
import type { Operation } from '../../sdk/index.ts'

interface Template {
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

const patternOf = (path: string) =>
  new RegExp(
    `^${path
      .split('/')
      .map((segment) => (segment.startsWith('{') ? '[^/]+' : segment.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')))
      .join('/')}/?$`,
  )

/**
 * The methods that a path answers, for the `Allow` of a 405; empty when nothing is there. Only asked after routing
 * has failed, so it need not be fast.
 */
export const createAllowed = (
  operations: readonly Operation[],
  own: readonly string[],
): ((path: string) => readonly string[]) => {
  const templates: Template[] = [
    ...operations.map((operation) => ({
      pattern: patternOf(pathOf(operation)),
      methods: methodOf(operation) === 'GET' ? ['GET', 'HEAD'] : [methodOf(operation)],
    })),
    ...own.map((path) => ({ pattern: patternOf(path), methods: ['GET', 'HEAD'] })),
  ]
  return (path) => [
    ...new Set(templates.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
  ]
}

import { methodOf, pathOf, pathParams } from '../../kernel/check/operation.ts'
import type { Operation } from '../../sdk/index.ts'
import type { OwnRoute } from './types.ts'

interface Template {
  readonly pattern: RegExp
  readonly members: number
  readonly methods: readonly string[]
}

const patternOf = (path: string) =>
  new RegExp(
    `^${path
      .split('/')
      .map((segment) =>
        segment === '*'
          ? '.+'
          : segment.startsWith('{')
            ? '[^/]+'
            : segment.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&'),
      )
      .join('/')}/?$`,
  )

/**
 * The methods of a path, for the `Allow` header of a 405; empty for an unknown path. A literal path
 * (`/tokens/search`) comes before one with parameters (`/tokens/{id}`), as in the document. Called only after routing
 * failed.
 */
export const createAllowHeader = (
  operations: readonly Operation[],
  own: readonly Pick<OwnRoute, 'method' | 'path'>[],
): ((path: string) => readonly string[]) => {
  const templates: Template[] = [
    ...operations.map((operation) => ({
      pattern: patternOf(pathOf(operation)),
      members: pathParams(pathOf(operation)).length,
      methods:
        methodOf(operation) === 'GET' && !operation.singleRead ? ['GET', 'HEAD'] : [methodOf(operation)],
    })),
    ...own.map(({ method = 'GET', path }) => ({
      pattern: patternOf(path),
      members: 0,
      methods: method === 'GET' ? ['GET', 'HEAD'] : [method],
    })),
  ]
  return (path) => {
    const matching = templates.filter(({ pattern }) => pattern.test(path))
    const fewest = Math.min(...matching.map(({ members }) => members))
    return [
      ...new Set(matching.filter(({ members }) => members === fewest).flatMap(({ methods }) => methods)),
    ]
  }
}

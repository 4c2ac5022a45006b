import type { EntityType, Operation, TokenType } from '../sdk/index.ts'
import { subjectOf, titled } from './invoke/audit.ts'

/** Every kind of entity that logs are about: token types, then what operations record done or denied, each once. */
export const entityTypesOf = (
  tokenTypes: readonly TokenType[],
  operations: readonly Operation[],
): readonly EntityType[] => {
  const names = new Map(tokenTypes.map(({ name, title }) => [name, title]))
  const entities = operations.flatMap((operation) => subjectOf(operation)?.entity ?? [])
  for (const entity of entities.sort()) if (!names.has(entity)) names.set(entity, titled(entity))
  return [...names].map(([value, display_name]) => ({ display_name, value }))
}

import type { EntityType, Operation, TokenType } from '../sdk/index.ts'
import { subjectOf, titled } from './invoke/audit.ts'

/** All entity types of logs, each once: token types, then entities of operations and `others`. */
export const entityTypesOf = (
  tokenTypes: readonly TokenType[],
  operations: readonly Operation[],
  others: readonly string[] = [],
): readonly EntityType[] => {
  const names = new Map(tokenTypes.map(({ name, title }) => [name, title]))
  const entities = [...operations.flatMap((operation) => subjectOf(operation)?.entity ?? []), ...others]
  for (const entity of entities.sort()) if (!names.has(entity)) names.set(entity, titled(entity))
  return [...names].map(([value, display_name]) => ({ display_name, value }))
}

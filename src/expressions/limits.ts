/** Bounds of the expression language (DESIGN §7.9): whoever writes an expression or a value pays with an error, not our time. */
export const LIMITS = {
  /** Characters between `{{` and `}}` of a detokenization expression. */
  expression: 1_000,
  /** Expressions of one text. */
  expressions: 100_000,
  /** Characters of a stored expression. The vault allows fewer (completions §5: 400). */
  stored: 4_000,
  /** Filters of one expression. */
  filters: 32,
  /** Characters of a text that an expression or a template yields. */
  result: 33_554_432,
  /** Nodes (array elements, members) a filter may be handed or yield. */
  nodes: 1_000_000,
  /** liquidjs' own count of characters and elements made in one evaluation. */
  memory: 8_388_608,
  /** Milliseconds a stored expression with tags may run. */
  milliseconds: 250,
  /** Compiled texts kept. */
  cache: 1_000,
  /** Characters `pad_left` and `pad_right` may make. */
  padding: 10_000,
} as const

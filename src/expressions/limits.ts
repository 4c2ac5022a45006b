/** Bounds of the expression language (DESIGN §7.9): whoever writes an expression or a value pays with an error, not our time. */
export const LIMITS = {
  /** Characters between `{{` and `}}` of a detokenization expression. */
  expression: 1_000,
  /** Characters of white space that wait for a `{{-` in a text that comes in parts. */
  blanks: 65_536,
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
  /** Units of work (work.ts) for one stored expression, or all of one mask. A unit takes up to 0.1 µs. */
  storedWork: 8_388_608,
  /** Units for all expressions of a body. */
  bodyWork: 134_217_728,
  /** Units more for each byte of a body that comes in parts: what a whole one of 8 MiB has. */
  byteWork: 16,
  /** Units that a template or a turn of a loop counts for. */
  step: 50,
  /** Units that a character or element counts for in a filter of ours. */
  handled: 4,
  /** Milliseconds that stored expressions with tags may run, all of one mask together. */
  milliseconds: 250,
  /** Compiled texts kept. */
  cache: 1_000,
  /** Characters `pad_left` and `pad_right` may make. */
  padding: 10_000,
} as const

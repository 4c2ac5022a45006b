/** Bounds of the expression language (docs/security-model.md, "Bounded work"): whoever writes an expression or a value pays with an error, not our time. */
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
  /** Names and indexes of one path, e.g. 2 in `data.number`: as deep as data may nest. */
  path: 64,
  /** Characters that a filter searches for, of a JSONPath, and of a date format. */
  pattern: 256,
  /** Characters of a text that an expression or a template yields. */
  result: 33_554_432,
  /** Elements and members of a value that a filter may be handed or yield. */
  nodes: 1_000_000,
  /** Elements that `split` may make, and places that `replace` may change. */
  list: 250_000,
  /**
   * Units of work (work.ts) for what is evaluated without a pause: one stored expression, all of one mask, one text of a
   * detokenization. A unit takes up to 0.1 µs.
   */
  expressionWork: 400_000,
  /** Units for all expressions of a call. */
  bodyWork: 33_554_432,
  /** Units more for each byte of a body that comes in parts: what a whole one of 8 MiB has. */
  byteWork: 4,
  /** Milliseconds from the first to the last expression of a call, pauses included. */
  milliseconds: 15_000,
  /** Units after which the clock is looked at. */
  between: 65_536,
  /** Units of one expression, or of one call of a filter, before what it reads and makes is counted. */
  call: 20,
  /** Units for each character of an expression that is read. */
  syntax: 1,
  /** Units for each character of a value that is printed, or is a part of a mask. */
  printed: 1 / 16,
  /** Characters that an element of a list counts for. */
  element: 16,
  /** Characters that a member of an object counts for; objects of very many are slow to list. */
  member: 32,
  memberOfMany: 512,
  many: 512,
  /** Characters `pad_left` and `pad_right` may make. */
  padding: 10_000,
  /** Stored expressions kept compiled. */
  cache: 1_000,
} as const

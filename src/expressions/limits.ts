/** Limits of the expression language (docs/security-model.md, "Bounded work"). Above them the result is an error. */
export const LIMITS = {
  /** Characters between `{{` and `}}` of a detokenization expression. */
  expression: 1_000,
  /** White space before a `{{-` in a text in parts. */
  blanks: 65_536,
  /** Expressions of one text. */
  expressions: 100_000,
  /** Characters of a stored expression. The vault allows fewer (completions §5: 400). */
  stored: 4_000,
  /** Filters of one expression. */
  filters: 32,
  /** Names and indexes of one path, e.g. 2 in `data.number`: the maximum depth of data. */
  path: 64,
  /** Characters of a search pattern, a JSONPath, and a date format. */
  pattern: 256,
  /** Characters of the result of an expression or a template. */
  result: 33_554_432,
  /** Elements and members of a filter's input or result. */
  nodes: 1_000_000,
  /** Elements of a result of `split`, and replacements of `replace`. */
  list: 250_000,
  /**
   * Units of work (work.ts) without a pause: one stored expression, one complete mask, one text of a detokenization. A
   * unit takes up to 0.1 µs.
   */
  expressionWork: 400_000,
  /** Units for all expressions of a call. */
  bodyWork: 33_554_432,
  /** Additional units for each byte of a streamed body: the same ratio as for a buffered one of 8 MiB. */
  byteWork: 4,
  /** Milliseconds from the first to the last expression of a call, pauses included. */
  milliseconds: 15_000,
  /** Units between two checks of the clock. */
  between: 65_536,
  /** Maximum units for each byte of bytes, which only native code reads. */
  native: 1 / 32,
  /** Base units of one expression, and of one call of a filter. */
  call: 20,
  /** Units for each parsed character of an expression. */
  syntax: 1,
  /** Units for each character of a printed value, or of a value in a mask. */
  printed: 1 / 16,
  /** Weight of an element of a list, in characters. */
  element: 16,
  /** Weight of a member of an object, in characters; large objects are slow to list. */
  member: 32,
  memberOfMany: 512,
  many: 512,
  /** Largest width of `pad_left` and `pad_right`. */
  padding: 10_000,
  /** Compiled stored expressions in the cache. */
  cache: 1_000,
} as const

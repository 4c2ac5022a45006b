/** Bounds of body rewriting (completions §11). */
export interface BodyLimits {
  /** Bytes of a body after its content-encoding is removed. */
  readonly decodedBytes: number
  /** Bytes of a body after its expressions are replaced. */
  readonly rewrittenBytes: number
  /** Strings or fields with expressions. */
  readonly expressions: number
  /** Containers within containers in JSON. */
  readonly jsonDepth: number
  /** Bytes of an element that must be complete: in a body in parts, and always in XML, CSV and multipart forms. */
  readonly heldBytes: number
  /** Expressions of one XML text, CSV field or part of a form: they are handled in one turn. */
  readonly together: number
}

export const BODY_LIMITS: BodyLimits = {
  decodedBytes: 8 * 1024 * 1024,
  rewrittenBytes: 32 * 1024 * 1024,
  expressions: 100_000,
  jsonDepth: 64,
  heldBytes: 1024 * 1024,
  together: 1_000,
}

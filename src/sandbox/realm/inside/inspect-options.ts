/** Bounds of the texts that `console` and `util.inspect` make, whatever they are given. */

export interface InspectOptions {
  /** Levels of objects inside the object; null or Infinity for all. */
  readonly depth?: number | null
  readonly maxArrayLength?: number | null
  readonly maxStringLength?: number | null
  readonly breakLength?: number
  readonly compact?: number | boolean
  readonly showHidden?: boolean
  readonly sorted?: boolean
  readonly getters?: boolean
  readonly colors?: boolean
}

/** What one call of `inspect` goes on with. */
export interface Inspection {
  readonly options: InspectOptions
  readonly depth: number
  readonly arrayLength: number
  readonly stringLength: number
  readonly breakLength: number
  readonly compact: number
  /** Objects around the one being shown, outermost first. */
  readonly path: object[]
  /** Objects that contain themselves, in the order found. */
  readonly circular: object[]
  /** Characters of indentation. */
  indent: number
  /** Level of the object shown last: one that holds many levels is not put on one line. */
  level: number
  /** Values that may still be shown. */
  left: number
}

/** Values of one text; what lies beyond is an ellipsis. */
const VALUES = 10_000

const limit = (given: number | null | undefined, otherwise: number): number =>
  given === null ? Number.POSITIVE_INFINITY : typeof given === 'number' && given >= 0 ? given : otherwise

export const beginInspection = (options: InspectOptions): Inspection => ({
  options,
  depth: Math.min(limit(options.depth, 2), 50),
  arrayLength: limit(options.maxArrayLength, 100),
  stringLength: limit(options.maxStringLength, 10_000),
  breakLength: limit(options.breakLength, 80),
  compact: typeof options.compact === 'number' ? options.compact : options.compact === false ? 0 : 3,
  path: [],
  circular: [],
  indent: 0,
  level: 0,
  left: VALUES,
})

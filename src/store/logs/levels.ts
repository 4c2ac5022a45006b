/**
 * Widths (ms) of the buckets that logs are counted in, finest first: each holds 64 of the one before, from 4 s to 12
 * days. Any total, and the place of any page, is a few sums of at most 64 buckets, and one look into the finest.
 */
export const LEVELS = [4_000, 256_000, 16_384_000, 1_048_576_000] as const

export const bucketOf = (level: number, at: number): number => Math.floor(at / (LEVELS[level] as number))

/** The value below which a share of them lies; `values` ascending. */
export const quantile = (values: readonly number[], share: number): number | undefined =>
  values[Math.max(0, Math.ceil(share * values.length) - 1)]

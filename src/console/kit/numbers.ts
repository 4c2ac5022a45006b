/** Numbers as text, in one locale, so that columns align and tests can compare them. */
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const PRECISE = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** `1,204`. */
export const count = (value: number): string => WHOLE.format(value)

/** Three significant digits: `0.0123`, `1.5`; whole numbers from 100. */
export const decimal = (value: number): string =>
  Math.abs(value) >= 100 ? WHOLE.format(value) : PRECISE.format(value)

/** `0.42 ms`, `12.3 ms`, `1.2 s`. */
export const milliseconds = (ms: number): string =>
  ms >= 1_000 ? `${decimal(ms / 1_000)} s` : `${decimal(ms)} ms`

/** `512 B`, `1.5 KiB`, `3 MiB`. */
export const bytes = (value: number): string => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length - 1, value < 1 ? 0 : Math.floor(Math.log2(value) / 10))
  return `${decimal(value / 1024 ** power)} ${units[power]}`
}

/** A share of one: `12 %`, `0.3 %`. */
export const percent = (share: number): string => `${decimal(share * 100)} %`

/** The value below which a share of them lies; `values` ascending. */
export const quantile = (values: readonly number[], share: number): number | undefined =>
  values[Math.max(0, Math.ceil(share * values.length) - 1)]

/** UUIDs, trace ids, which have a letter, and times with milliseconds. */
const NO_DATA =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?=\d*[a-f])[0-9a-f]{32}\b|T\d\d:\d\d:\d\d\.\d{3}/gi

/**
 * Whether a text may hold what tokens hold: a query by data, or nine digits in any writing, as in src/vault/safe-id.ts.
 * Such a text stays out of the address, and of the browser's history.
 */
export const mayHoldData = (text: string): boolean =>
  /(?:^|[^\w.])data\s*[.:]/i.test(text) ||
  /\p{Nd}{9}/u.test(
    text
      .replace(NO_DATA, 'T')
      .normalize('NFKC')
      .replace(/[^\p{L}\p{N}]/gu, ''),
  )

/** The filters that the address may show: those that cannot hold data. */
export const addressFilters = (filters: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...filters].filter(([, value]) => !mayHoldData(value)))

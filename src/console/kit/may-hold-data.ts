const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi
/** Of a date-time with milliseconds. */
const TIME = /(?<=\d-\d\d)T\d\d:\d\d:\d\d\.\d{3}/g

/** Nine digits of any script and width, whatever separates them. */
const holdsNumber = (text: string): boolean =>
  /\p{Nd}{9}/u.test(text.normalize('NFKC').replace(/[^\p{L}\p{N}]/gu, ''))

/**
 * Whether a text may hold what tokens hold: a query by data, or nine digits that are not of a UUID, as in
 * src/vault/safe-id.ts. Such a text stays out of the address, and of the browser's history.
 */
export const mayHoldData = (text: string): boolean =>
  /(?:^|[^\w.])data\s*[.:]/i.test(text) || holdsNumber(text.replaceAll(UUID, '').replaceAll(TIME, 'T'))

/** The filters that the address may show: those that cannot hold data. */
export const addressFilters = (filters: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...filters].filter(([, value]) => !mayHoldData(value)))

/** An id as errors may repeat it: callers mistake data for ids, and errors never hold data. */
export const printableId = (id: string): string =>
  id.length <= 100 &&
  !/(?:\d[ -]?){9}|key_/.test(id.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i, ''))
    ? `The token "${id}"`
    : 'The requested token'

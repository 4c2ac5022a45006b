const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i

/** Nine digits of any script and width, whatever separates them. */
const holdsNumber = (text: string): boolean => /\p{Nd}{9}/u.test(text.replace(/[^\p{L}\p{N}]/gu, ''))

const mayHoldData = (id: string): boolean => {
  const text = id.replace(UUID, '').normalize('NFKC')
  return text.includes('key_') || holdsNumber(text)
}

/** An id as errors may repeat it: callers mistake data for ids, and errors never hold data. */
export const printableId = (id: string): string =>
  id.length <= 100 && !mayHoldData(id) ? `The token "${id}"` : 'The requested token'

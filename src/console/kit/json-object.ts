export type JsonObject = Readonly<Record<string, unknown>>

/** The object of a JSON text, or a sentence that says what is wrong. An empty text is an empty object. */
export const parseObject = (
  text: string,
):
  | { readonly value: JsonObject; readonly error?: never }
  | { readonly value?: never; readonly error: string } => {
  if (text.trim() === '') return { value: {} }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as JsonObject }
    return { error: 'Write an object: { "name": "value" }.' }
  } catch (thrown) {
    return { error: `This is not JSON: ${(thrown as Error).message}.` }
  }
}

export const objectText = (value: unknown): string => JSON.stringify(value ?? {}, null, 2)

/** Bytes as a text of one character each, for host calls. */

const CHUNK = 8_192

export const latin1 = (bytes: Uint8Array): string => {
  let text = ''
  for (let i = 0; i < bytes.length; i += CHUNK)
    text += String.fromCharCode.apply(null, bytes.subarray(i, i + CHUNK) as unknown as number[])
  return text
}

/** Writes the characters of a text into `bytes` of the same length. */
export const fill = <T extends Uint8Array>(bytes: T, text: string): T => {
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}

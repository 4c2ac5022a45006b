/** `punycode`: the two functions of it that domain names need. */
import { callSync } from '../border.ts'

export const toASCII = (domain: string): string => callSync('url.toASCII', domain)
export const toUnicode = (domain: string): string => callSync('url.toUnicode', domain)

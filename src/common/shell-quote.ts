/** A text as one word of a POSIX shell (Shell Command Language, 2.2.2); plain words as they are. */
export const shellQuote = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

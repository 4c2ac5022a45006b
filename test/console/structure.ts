/** Lines of an accessibility tree that are structure. Text, rows and links are data. */
const STRUCTURE =
  /^( *)- (heading|region|table|columnheader|form|search|navigation|button|textbox|searchbox|combobox|checkbox|radio|slider|progressbar|tab|img|alert)\b/

/** Names that hold numbers, times or ids are data, too. */
const withoutData = (line: string): string =>
  line
    .trim()
    .replace(/:.*$/, '')
    .replace(/ \[(active|expanded|pressed)\]/g, '')
    .replaceAll(/\d+/g, '0')

/**
 * Headings, regions, tables with their columns, and controls of a page, in order: from `ariaSnapshot` of Playwright.
 * A row of a table holds data, except for the heads of its columns.
 */
export const structureOf = (snapshot: string): readonly string[] => {
  let row = Number.POSITIVE_INFINITY
  return snapshot.split('\n').flatMap((line) => {
    const depth = line.length - line.trimStart().length
    if (depth <= row) row = /^- '?row\b/.test(line.trimStart()) ? depth : Number.POSITIVE_INFINITY
    const [, , role] = STRUCTURE.exec(line) ?? []
    return role === undefined || (depth > row && role !== 'columnheader') ? [] : [withoutData(line)]
  })
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const plain = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .trim()

/** The first paragraph below the heading of a code in `/docs/errors`, as text. */
const remedyIn = (page: string, code: string): string | undefined => {
  const at = page.indexOf(`<h2 id="${code}"`)
  if (at < 0) return undefined
  const [, paragraph] = /<\/h2>\s*<p>(.*?)<\/p>/s.exec(page.slice(at)) ?? []
  return paragraph === undefined ? undefined : plain(paragraph)
}

let page: Promise<string> | undefined

/** Cause and fix of an error code, from the documentation. */
export const loadRemedy = async (code: string): Promise<string | undefined> => {
  page ??= fetch('/docs/errors', { credentials: 'omit' }).then((response) =>
    response.ok ? response.text() : Promise.reject(new Error('no page')),
  )
  try {
    return remedyIn(await page, code)
  } catch {
    page = undefined
    return undefined
  }
}

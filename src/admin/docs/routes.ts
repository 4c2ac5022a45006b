import { AppError } from '../../common/errors.ts'
import type { OwnRoute } from '../http/types.ts'
import { apiContent } from '../openapi/docs-page.ts'
import type { OpenApi } from '../openapi/types.ts'
import { html, htmlPage, PAGE_POLICY } from './html.ts'
import { type DocumentPage, loadPages } from './library.ts'
import { type Entry, entriesOf, search } from './search.ts'

const GROUPS: readonly (readonly [folder: string, title: string])[] = [
  ['', 'Start here'],
  ['guides', 'Guides'],
  ['reference', 'Reference'],
  ['adr', 'Decisions'],
]

/** These come first in their group, the others follow by name. */
const FIRST = ['getting-started', 'concepts', 'glossary', 'proxying', 'configuration', 'adr']

const rank = (name: string): number => (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1)

interface Library {
  readonly pages: ReadonlyMap<string, DocumentPage>
  readonly entries: readonly Entry[]
}

const linksTo = ({ pages }: Library, current?: string): string =>
  GROUPS.map(([group, title]) => {
    const own = [...pages.values()]
      .filter(({ folder, name }) => folder === group && (folder !== 'adr' || name === 'adr'))
      .sort((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1))
    const links = own.map(
      (page) =>
        `<a href="/docs/${page.name}"${page.name === current ? ' aria-current="page"' : ''}>${html(page.title)}</a>`,
    )
    return `<strong>${title}</strong>${links.join('')}`
  }).join('')

/**
 * `/docs`: the documents of the project beside the documentation of the API, with a search that needs no script. Read
 * and rendered when first asked for.
 */
export const docsRoutes = (document: () => OpenApi): readonly OwnRoute[] => {
  let loaded: Promise<Library> | undefined
  const load = async (): Promise<Library> => {
    const pages = await loadPages()
    return { pages: new Map(pages.map((page) => [page.name, page])), entries: entriesOf(pages, document()) }
  }
  const library = (): Promise<Library> => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
  let api: string | undefined
  const route = (
    path: string,
    page: (params: URLSearchParams, name: string) => Promise<string>,
  ): OwnRoute => ({
    path,
    name: 'docs',
    handler: async (request, reply) => {
      const { searchParams } = new URL(request.raw.url ?? '', 'http://docs')
      const { page: name = '' } = request.params as { readonly page?: string }
      const text = await page(searchParams, name)
      return reply
        .header('content-security-policy', PAGE_POLICY)
        .header('referrer-policy', 'no-referrer')
        .type('text/html; charset=utf-8')
        .send(text)
    },
  })
  return [
    route('/docs', async () => {
      const main = `<h1>Documentation</h1><nav class="pages">${linksTo(await library())}<strong>API</strong><a href="/docs/api">Every operation</a><a href="/openapi.json">OpenAPI document</a></nav>`
      return htmlPage({ title: 'Sidevault documentation', main })
    }),
    route('/docs/api', async () => {
      api ??= htmlPage({ title: `${document().info.title} API`, main: apiContent(document()) })
      return api
    }),
    route('/docs/search', async (params) => {
      const query = params.get('q') ?? ''
      const hits = search((await library()).entries, query).map(
        ({ href, title, excerpt }) =>
          `<li><a href="${html(href)}">${html(title)}</a><br><span class="note">${html(excerpt)}</span></li>`,
      )
      const found =
        hits.length === 0 ? '<p>Nothing found.</p>' : `<ol class="results">${hits.join('\n')}</ol>`
      return htmlPage({ title: 'Search', main: `<h1>Search</h1>${found}`, query: query.slice(0, 200) })
    }),
    route('/docs/{page}', async (_params, name) => {
      const all = await library()
      const page = all.pages.get(name)
      if (page === undefined) throw new AppError('not_found', 'No such page. See /docs.')
      const { title, content } = page
      return htmlPage({ title: `${title} · Sidevault`, main: content, pages: linksTo(all, name) })
    }),
  ]
}

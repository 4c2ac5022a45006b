import { createHash } from 'node:crypto'

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 1rem 1rem 4rem; overflow-wrap: break-word; }
header { align-items: baseline; display: flex; flex-wrap: wrap; gap: .5rem 1rem; border-bottom: 1px solid var(--line); padding-bottom: .75rem; }
header a { font-weight: 600; text-decoration: none; } header form { display: flex; flex: 1 1 14rem; gap: .5rem; }
input, button { font: inherit; border: 1px solid var(--line); border-radius: 6px; padding: .25rem .6rem; } input { flex: 1; min-width: 0; }
h1 { font-size: 1.6rem; margin: 1rem 0 .25rem; } h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; } .note { opacity: .7; }
nav a { display: block; text-decoration: none; padding: .1rem 0; } nav.tags { columns: 16rem; margin: 1rem 0; }
nav.pages strong { display: block; margin-top: .75rem; } nav.pages a[aria-current] { font-weight: 600; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; } details > div, details > nav { padding: 0 1rem 1rem; }
summary { cursor: pointer; padding: .5rem 1rem; } summary:hover { background: var(--soft); }
code { font: .875em/1.5 ui-monospace, monospace; } b.method { display: inline-block; min-width: 4.2rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; vertical-align: top; min-width: 6rem; }
pre { background: var(--soft); border-radius: 6px; margin: .5rem 0; overflow-x: auto; padding: .5rem .75rem; }
.results li { margin: .75rem 0; } mark { background: none; color: inherit; font-weight: 600; }
`

/** Only the page's own style may load: no script, image or frame. The search is the only form. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML. */
export const html = (text: unknown): string =>
  String(text).replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!)

/** A complete page. `title` and `query` are text, `main` and `pages` are HTML. */
export const htmlPage = (of: {
  readonly title: string
  readonly main: string
  /** Links to all pages. */
  readonly pages?: string
  /** The search query. */
  readonly query?: string
}): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(of.title)}</title><style>${STYLE}</style></head><body>
<header><a href="/docs">Sidevault</a><a href="/docs/api">API</a>
<form action="/docs/search" role="search"><input type="search" name="q" maxlength="200" aria-label="Search" placeholder="Search" value="${html(of.query ?? '')}"><button>Search</button></form></header>
${of.pages === undefined ? '' : `<details><summary>Pages</summary><nav class="pages">${of.pages}</nav></details>`}
<main>${of.main}</main>
</body></html>
`

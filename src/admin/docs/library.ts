import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { yieldIfDue } from '../../common/event-loop.ts'
import { html } from './html.ts'

const ROOT = fileURLToPath(new URL('../../../docs', import.meta.url))

/** A part of a page, from one heading to the next. */
interface Section {
  readonly title: string
  /** Anchor of its heading; empty for the beginning of a page. */
  readonly anchor: string
  /** Without markup. */
  readonly text: string
}

export interface DocumentPage {
  /** Last part of its path: `/docs/<name>`. */
  readonly name: string
  /** Folder below `docs/`, empty for the pages in it. */
  readonly folder: string
  readonly title: string
  /** HTML of its content. */
  readonly content: string
  readonly sections: readonly Section[]
}

/** The anchor of a heading, made as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

/** Markdown without its marks, on one line. */
const plain = (text: string): string =>
  text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/^[\s:|-]+$|[`*|]/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** `docs/guides/proxying.md` → `proxying`; a folder's README has the name of the folder. */
const nameOf = (path: string): string =>
  basename(path) === 'README.md' ? basename(dirname(path)) : basename(path, '.md')

/** The path of a link between documents on the service; undefined for files that it does not serve. */
const served = (from: string, href: string, paths: ReadonlySet<string>): string | undefined => {
  const [file = '', anchor] = href.split('#')
  if (file === '') return href
  const path = posix.join(posix.dirname(from), file)
  const found = [path, posix.join(path, 'README.md')].find((each) => paths.has(each))
  if (found === undefined) return undefined
  return `/docs/${nameOf(found)}${anchor === undefined ? '' : `#${anchor}`}`
}

/**
 * The documents below `docs/`, rendered. Links between them lead to the service; what else lies in the repository is
 * named without a link. HTML inside documents is shown as text.
 */
export const loadPages = async (): Promise<readonly DocumentPage[]> => {
  const { Marked } = await import('marked')
  const files = (await readdir(ROOT, { recursive: true }))
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.md'))
  const paths = new Set(files)
  const render = (path: string, source: string): Pick<DocumentPage, 'content' | 'sections' | 'title'> => {
    const text = source.replaceAll(/<!--[\s\S]*?-->\n?/g, '')
    const sections: { title: string; anchor: string; text: string }[] = []
    const marked = new Marked({
      renderer: {
        html: ({ text: markup }) => html(markup),
        heading({ tokens, depth, text: heading }) {
          const anchor = anchorOf(plain(heading))
          return `<h${depth} id="${html(anchor)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
        },
        link({ href, tokens }) {
          const label = this.parser.parseInline(tokens)
          const target = /^https?:/.test(href) ? href : served(path, href, paths)
          if (target !== undefined) return `<a href="${html(target)}">${label}</a>`
          const file = posix.join('docs', posix.dirname(path), href.split('#')[0] ?? '')
          return label.includes(file) ? label : `${label} (<code>${html(file)}</code>)`
        },
        table(token) {
          const cells = (row: typeof token.header, tag: string) =>
            row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')
          const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')
          return `<div class="scroll"><table><thead><tr>${cells(token.header, 'th')}</tr></thead><tbody>${rows}</tbody></table></div>\n`
        },
        code: ({ text: program }) => `<pre><code>${html(program)}</code></pre>\n`,
        image: ({ text: label }) => html(label),
      },
    })
    for (const token of marked.lexer(text)) {
      if (token.type === 'heading') {
        const title = plain(token.text)
        sections.push({ title, anchor: sections.length === 0 ? '' : anchorOf(title), text: '' })
      } else {
        const section = sections.at(-1)
        if (section) section.text = `${section.text} ${plain(token.raw)}`.trim()
      }
    }
    const content = marked.parse(text, { async: false })
    return { title: sections[0]?.title || nameOf(path), content, sections }
  }
  const pages: DocumentPage[] = []
  for (const path of files) {
    const folder = posix.dirname(path) === '.' ? '' : posix.dirname(path)
    const text = await readFile(join(ROOT, path), 'utf8')
    const pause = yieldIfDue()
    if (pause) await pause
    pages.push({ name: nameOf(path), folder, ...render(path, text) })
  }
  return pages
}

import type { OpenApi } from '../openapi/types.ts'
import type { DocumentPage } from './library.ts'

/** Something that a search finds. */
export interface Entry {
  readonly href: string
  /** Page and section. */
  readonly title: string
  readonly text: string
}

interface Hit extends Entry {
  /** Around the first word that was found. */
  readonly excerpt: string
}

const LENGTH = 200
const WORDS = 8
const HITS = 30
const EXCERPT = 160

export const entriesOf = (pages: readonly DocumentPage[], api: OpenApi): readonly Entry[] => [
  ...pages.flatMap(({ name, title, sections }) =>
    sections.map((section) => ({
      href: `/docs/${name}${section.anchor === '' ? '' : `#${section.anchor}`}`,
      title: section.anchor === '' ? title : `${title}: ${section.title}`,
      text: section.text,
    })),
  ),
  ...Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, summary, description }]) => ({
      href: `/docs/api#${operationId}`,
      title: `${method.toUpperCase()} ${path}`,
      text: `${summary} ${description ?? ''} ${operationId}`,
    })),
  ),
]

const times = (text: string, word: string): number => text.split(word).length - 1

/** Entries that hold all words of a query, those with them in their title first. */
export const search = (entries: readonly Entry[], query: string): readonly Hit[] => {
  const words = query.slice(0, LENGTH).toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS)
  if (words.length === 0) return []
  const scored = entries.flatMap((entry) => {
    const title = entry.title.toLowerCase()
    const text = entry.text.toLowerCase()
    if (!words.every((word) => title.includes(word) || text.includes(word))) return []
    const score = words.reduce(
      (sum, word) => sum + 10 * times(title, word) + Math.min(5, times(text, word)),
      0,
    )
    const positions = words.map((word) => text.indexOf(word)).filter((at) => at >= 0)
    const from = Math.max(0, Math.min(...positions, text.length) - EXCERPT / 4)
    const excerpt = `${from > 0 ? '… ' : ''}${entry.text.slice(from, from + EXCERPT)}${from + EXCERPT < text.length ? ' …' : ''}`
    return [{ ...entry, excerpt: positions.length > 0 ? excerpt : entry.text.slice(0, EXCERPT), score }]
  })
  return scored.sort((a, b) => b.score - a.score).slice(0, HITS)
}
